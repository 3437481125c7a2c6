// Finds the enabled presets whose settings need a job.
import { resolvePresetSettings } from '../../config/preset-settings.ts'
import type { Config } from '../../config/schema/schema.ts'
import { presetSection } from '../../config/schema/hooks.ts'
import type { Preset } from '../../plugin/plugin.ts'

export interface NeededJob {
  preset: Preset
  /** The preset's own settings. */
  settings: Record<string, unknown>
}

interface PresetsInUse {
  presets: ReadonlyMap<string, Preset>
  hooks: Config['hooks']
}

export function findNeededJobs({ presets, hooks }: PresetsInUse): NeededJob[] {
  if (!hooks.enabled) return []
  return [...new Set(hooks.presets)].flatMap((name) => {
    const preset = presets.get(name)
    if (!preset?.start) return []
    const settings = resolvePresetSettings(preset, presetSection(hooks, name))
    return (preset.needsJob?.(settings) ?? true) ? [{ preset, settings }] : []
  })
}
