// Checks `hooks.presets` and the sections of presets.
import { listProblems } from '../../typebox.ts'
import { suggest } from '../nearest.ts'
import { resolvePresetSettings } from '../preset-settings.ts'
import { presetSection } from '../schema/hooks.ts'
import { HookAuth } from '../schema/hook-auth.ts'
import type { MappingConfig } from '../schema/mappings.ts'
import { authContextOf, hookAuthRules } from './hook-auth.ts'
import { actionRules, textWarnings } from './mappings.ts'
import { replyWarnings } from './replies.ts'
import { at, type RuleContext, type RuleFinding } from './rule.ts'

export function* presetRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  // Invalid names have left holes, which `flatMap` skips.
  yield* config.hooks.presets.flatMap((name, index) => [
    ...nameRules(name, ['hooks', 'presets', String(index)], context),
  ])
  for (const name of extensions.presets.keys())
    if (Object.hasOwn(config.hooks, name)) yield* sectionRules(name, context)
}

function* nameRules(name: string, keys: readonly string[], context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  const preset = extensions.presets.get(name)
  if (!preset) {
    const names = [...extensions.presets.keys()]
    const known = `known presets: ${names.join(', ') || 'none'}`
    yield { keys, problem: `is not a known preset; ${suggest(name, names, known)}` }
    return
  }
  const section = presetSection(config.hooks, name)
  yield* at(['hooks', name], listProblems(preset.config ?? {}, resolvePresetSettings(preset, section)))
  // A service that signs with its own keys needs no secret, and another program may send its webhooks.
  const hasSecret = preset.auth && extensions.schemes.get(preset.auth.scheme)?.secret !== false
  if (hasSecret && !section.auth) {
    const problem =
      `has no hooks.${name}.auth, so it accepts the hook token only and the signature of the ` +
      `service is not verified; set hooks.${name}.auth.secret`
    yield { keys, code: 'preset_unsigned', problem, warning: true }
  }
  const mapping = { ...preset.mapping, ...section } as MappingConfig
  const findings = [...(preset.toAction ? [] : textWarnings(mapping)), ...replyWarnings(mapping, context)]
  // Findings about keys of the section are reported there, the others at the name of the preset.
  for (const {
    keys: [key = ''],
    ...rest
  } of findings)
    yield { keys: Object.hasOwn(section, key) ? ['hooks', name, key] : keys, ...rest }
}

function* sectionRules(name: string, context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  const keys = ['hooks', name]
  const { auth, ...section } = presetSection(config.hooks, name)
  if (!config.hooks.presets.includes(name))
    yield { keys, problem: `has no effect, because hooks.presets does not contain "${name}"`, warning: true }
  const findings = [...actionRules(section, context)]
  if (auth) findings.push(...at(['auth'], authRules(name, { ...extensions.presets.get(name)?.auth, ...auth }, context)))
  yield* at(keys, findings)
}

function authRules(name: string, auth: object, context: RuleContext): Iterable<RuleFinding> {
  const problems = listProblems(HookAuth, auth)
  return problems.length > 0 ? problems : hookAuthRules(auth as HookAuth, authContextOf(name, context))
}
