// Asks which presets to enable, and for each the secret that its service signs with.
import { autocompleteMultiselect, log } from '@clack/prompts'
import { HookAuth } from '../../../config/schema/hook-auth.ts'
import { childSchema } from '../../../config/walk.ts'
import type { Preset } from '../../../plugin/plugin.ts'
import { CommandError } from '../../../plugin/errors.ts'
import { escapeInLine } from '../../../kit/escape-for-terminal.ts'
import { fieldsOf } from '../../../kit/shapes.ts'
import type { Changes, WizardContext } from '../context.ts'
import { createDraft, mergeChanges } from '../draft.ts'
import { requiredSettings, variableOf, webhookVariable } from '../variables.ts'
import { answerOf, choose } from '../../prompts.ts'
import { askSetting } from './ask.ts'

/** If the options name presets, only their missing secrets are asked for. */
export async function askPresets(context: WizardContext): Promise<Changes> {
  const { presets } = context.extensions
  const { presets: given } = fieldsOf(context.given['hooks']) as { presets?: string[] }
  const kept: string[] = []
  const sections: Record<string, Changes> = {}
  for (const name of given ?? (await choosePresets(presets))) {
    const preset = presets.get(name)
    const section = preset && (await askPreset(preset, context))
    if (section === undefined) continue
    kept.push(name)
    if (Object.keys(section).length > 0) sections[name] = section
  }
  return given || kept.length > 0 ? { hooks: { ...sections, presets: kept } } : {}
}

async function choosePresets(presets: ReadonlyMap<string, Preset>): Promise<string[]> {
  // Presets with a setup of their own are set up by the command "presets setup".
  const offered = [...presets.values()].filter((preset) => !preset.setup)
  return await answerOf<string[]>(
    autocompleteMultiselect({
      message: 'Which services send webhooks? Type to search, Tab selects. None is fine.',
      options: offered.map(({ name, description }) => ({ value: name, hint: escapeInLine(description) })),
      maxItems: 8,
      required: false,
    }),
  )
}

/** Returns undefined if the preset is left out after all. */
async function askPreset(preset: Preset, context: WizardContext): Promise<Changes | undefined> {
  for (;;) {
    const section = await askSection(preset, context)
    try {
      const hooks = { presets: [preset.name], [preset.name]: section }
      await createDraft(mergeChanges(context.given, { hooks }), context)
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

async function askSection(preset: Preset, { given, env, extensions }: WizardContext): Promise<Changes> {
  const { name, auth, setup } = preset
  const known = fieldsOf(fieldsOf(given['hooks'])[name])
  const section: Record<string, unknown> = {}
  for (const setting of requiredSettings(preset).filter(({ key }) => known[key] === undefined))
    section[setting.key] = await askSetting(setting, { name, variable: variableOf(name, setting.key), env })
  const hasSecret = auth && extensions.schemes.get(auth.scheme)?.secret !== false
  if (!hasSecret || setup || known['auth'] !== undefined) return section
  const schema = childSchema(HookAuth, 'secret') ?? {}
  const description = 'The secret that the service signs with, or its public key; blank: it must send the hook token'
  const setting = { key: 'secret', schema: { ...schema, description }, isSecret: true, isOptional: true }
  const secret = await askSetting(setting, { name, variable: webhookVariable(name), env })
  return { ...section, ...(secret && { auth: { secret } }) }
}
