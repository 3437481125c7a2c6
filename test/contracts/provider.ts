// What every provider must do: its models stream replies and tool calls, count tokens, and stop on a signal.
import type { Provider } from '../../core/plugin/plugin.ts'
import { describeChecks } from './check.ts'
import { type OpenProviderCase, providerChecks, type ProviderOptions } from './provider-checks.ts'

export type {
  OpenProviderCase,
  ProviderAbility,
  ProviderAnswer,
  ProviderCase,
  ProviderOptions,
} from './provider-checks.ts'

/**
 * @param openCase called before each test with what the model has to answer, for example to start a double of the model
 * server; `close` of its result is called afterwards
 */
export const providerContract = <Config>(
  provider: Provider<Config>,
  openCase: OpenProviderCase<Config>,
  options: ProviderOptions = {},
): void => describeChecks(provider, { checks: providerChecks(provider, openCase, options), without: options.without })
