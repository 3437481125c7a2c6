// What every toolset must do: valid declarations and results, calls that end, secrets that stay, nothing left behind.
import type { Toolset } from '../../core/plugin/plugin.ts'
import { describeChecks } from './check.ts'
import { toolsetChecks, type ToolsetCase } from './toolset-checks.ts'

export type { ToolCall, ToolsetCase } from './toolset-checks.ts'

export const toolsetContract = <Config>(toolset: Toolset<Config>, settings: ToolsetCase<Config>): void =>
  describeChecks(toolset, { checks: toolsetChecks(toolset, settings) })
