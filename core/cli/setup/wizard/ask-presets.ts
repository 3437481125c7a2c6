// Asks which presets to enable, and for each the secret that its service signs with.
import { autocompleteMultiselect, log } from '@clack/prompts'
import { HookAuth } from '../../../config/schema/hook-auth.ts'
import { childSchema } from '../../../config/walk.ts'
import type { Preset } from '../../../plugin.ts'
import { CommandError } from '../../command-error.ts'
import { escapeInLine } from '../../escape-for-terminal.ts'
import type { Changes, SetupContext } from '../context.ts'
import { createDraft } from '../draft.ts'
import { requiredSettings, variableOf, webhookVariable } from '../variables.ts'
import { answerOf, askSetting, choose } from './prompts.ts'

export async function askPresets(context: SetupContext): Promise<Changes> {
  // Presets with a setup of their own are set up by the command "presets setup".
  const offered = [...context.extensions.presets.values()].filter((preset) => !preset.setup)
  const names = await answerOf<string[]>(
    autocompleteMultiselect({
      message: 'Which services send webhooks? Type to search, Tab selects. None is fine.',
      options: offered.map(({ name, description }) => ({ value: name, hint: escapeInLine(description) })),
      maxItems: 8,
      required: false,
    }),
  )
  const sections: [string, Changes][] = []
  for (const preset of offered.filter(({ name }) => names.includes(name))) {
    const section = await askPreset(preset, context)
    if (section) sections.push([preset.name, section])
  }
  if (sections.length === 0) return {}
  const withKeys = sections.filter(([, section]) => Object.keys(section).length > 0)
  return { hooks: { ...Object.fromEntries(withKeys), presets: sections.map(([name]) => name) } }
}

/** Returns undefined if the preset is left out after all. */
async function askPreset(preset: Preset, context: SetupContext): Promise<Changes | undefined> {
  for (;;) {
    const section = await askSection(preset, context)
    try {
      await createDraft({ hooks: { presets: [preset.name], [preset.name]: section } }, context)
      return section
    } catch (error) {
      if (!(error instanceof CommandError)) throw error
      log.error(error.message)
      const isLeftOut = await choose('What next?', [
        { value: false, label: 'Enter the settings again' },
        { value: true, label: 'Leave the preset out', hint: 'docs/presets.md says what it needs' },
      ])
      if (isLeftOut) return undefined
    }
  }
}

async function askSection(preset: Preset, { env }: SetupContext): Promise<Changes> {
  const { name, auth } = preset
  const section: Record<string, unknown> = {}
  for (const setting of requiredSettings(preset))
    section[setting.key] = await askSetting(setting, { name, variable: variableOf(name, setting.key), env })
  if (!auth) return section
  const schema = childSchema(HookAuth, 'secret') ?? {}
  const description = 'The secret that the service signs with, or its public key; blank: it must send the hook token'
  const setting = { key: 'secret', schema: { ...schema, description }, isSecret: true, isOptional: true }
  const secret = await askSetting(setting, { name, variable: webhookVariable(name), env })
  return { ...section, ...(secret && { auth: { secret } }) }
}
