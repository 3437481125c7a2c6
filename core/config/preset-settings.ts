// Extracts a preset's own settings from its section.
import type { Preset } from '../plugin/plugin.ts'
import { fillDefaults } from './defaults.ts'
import type { PresetConfig } from './schema/schema.ts'

/** The keys of the preset's schema `config`, with defaults. The other keys of the section are the gateway's. */
export function resolvePresetSettings({ config = {} }: Preset<never>, section: PresetConfig): Record<string, unknown> {
  const { properties = {} } = config as { properties?: Record<string, unknown> }
  const own = Object.entries(section).filter(([key]) => Object.hasOwn(properties, key))
  return fillDefaults(config, Object.fromEntries(own)) as Record<string, unknown>
}
