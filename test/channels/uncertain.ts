// What a channel is asked about a message that may have arrived, for tests.
import type { UncertainMessage } from '../../core/plugin/plugin.ts'

export const uncertain = (key: string, to: string, more: Partial<UncertainMessage> = {}): UncertainMessage => ({
  key,
  to,
  text: 'hello',
  firstAttemptAt: Date.now() - 60_000,
  ...more,
})
