// The accounts of a channel, with the settings that they inherit from the channel's section.
import type { JsonSchema } from '../typebox.ts'
import { fillDefaults } from './defaults.ts'
import { type ChannelConfig, gatewayKeysOfChannel } from './schema/extensions.ts'

export interface Account {
  /** `default` if the section lists no accounts. */
  id: string
  /** The settings of the channel's own schema, with defaults. */
  settings: Record<string, unknown>
  defaultTo?: string
}

/** Resolves the accounts of a section `channels.<name>`; `schema` is the channel's own. */
export function resolveAccounts(section: ChannelConfig, schema: JsonSchema): Account[] {
  const accounts = section.accounts ?? { default: {} }
  return Object.entries(accounts).map(([id, account]) => {
    const own = Object.entries({ ...section, ...account }).filter(([key]) => !gatewayKeysOfChannel.has(key))
    const defaultTo = account.defaultTo ?? section.defaultTo
    const settings = fillDefaults(schema, Object.fromEntries(own)) as Record<string, unknown>
    return defaultTo === undefined ? { id, settings } : { id, settings, defaultTo }
  })
}
