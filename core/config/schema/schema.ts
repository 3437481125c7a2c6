// The schema of the configuration: all keys with descriptions, defaults and secret marks.
import { type Static, Type } from '../../typebox.ts'
import { AgentsSection } from './agents.ts'
import { AlertsSection, BudgetSection } from './budget.ts'
import { Approvals } from './approvals.ts'
import { LogSection, PluginsSection, SessionSection, StorageSection, TelemetrySection } from './basics.ts'
import { GatewaySection } from './gateway.ts'
import { hooksSection } from './hooks.ts'
import { channelsSection, type ConfigurableExtensions, providersSection, toolsSection } from './extensions.ts'

export type {
  AgentConfig,
  AgentDefaultsConfig,
  AgentsConfig,
  HeartbeatConfig,
  ModelEntry,
  ModelPrice,
} from './agents.ts'
export type { AlertRecipient, BudgetConfig } from './budget.ts'
export type { ApprovalsConfig } from './approvals.ts'
export type { LogConfig, SessionConfig, StorageConfig } from './basics.ts'
export type { ClientConfig, GatewayConfig } from './gateway.ts'
export type { HooksConfig } from './hooks.ts'
export type { MappingConfig, PresetConfig } from './mappings.ts'
export type {
  AccountConfig,
  ChannelConfig,
  ConfigurableExtensions,
  ProviderConfig,
  RefusedExtension,
  ToolsConfig,
} from './extensions.ts'
export type { ChannelGroupsConfig, ToolLists, ToolPolicyConfig, ToolScope } from './tool-policy.ts'

/**
 * Creates the schema for the loaded extensions. Keys with a default are required, because defaults are filled in before
 * the check. The keys of a section of `providers` depend on its `kind` in `document`.
 */
export function createConfigSchema(extensions: ConfigurableExtensions, document: { providers?: unknown } = {}) {
  return Type.Object(
    {
      gateway: GatewaySection,
      hooks: hooksSection(extensions),
      agents: AgentsSection,
      tools: toolsSection(extensions.toolsets),
      approvals: Type.Optional(Approvals),
      session: SessionSection,
      budget: BudgetSection,
      alerts: AlertsSection,
      providers: providersSection(extensions.providers, document.providers),
      channels: channelsSection(extensions.channels),
      plugins: PluginsSection,
      storage: StorageSection,
      log: LogSection,
      telemetry: TelemetrySection,
    },
    { additionalProperties: false },
  )
}

/** A checked configuration with defaults and resolved secrets. */
export type Config = Static<ReturnType<typeof createConfigSchema>>
