// The rules of `hooks.presets` and of the sections of presets: each is there, and its service can prove who it is.
import { listProblems } from '../../typebox.ts'
import { nearest } from '../nearest.ts'
import { resolvePresetSettings } from '../preset-settings.ts'
import { presetSection } from '../schema/hooks.ts'
import { HookAuth } from '../schema/hook-auth.ts'
import { Mapping, type MappingConfig } from '../schema/mappings.ts'
import { hookAuthRules } from './hook-auth.ts'
import { actionRules, textWarnings } from './mappings.ts'
import { replyWarnings } from './replies.ts'
import type { RuleContext, RuleFinding } from './rule.ts'

export function* presetRules(context: RuleContext): Iterable<RuleFinding> {
  const { config, extensions } = context
  // Names that do not fit the schema have left holes, which `flatMap` skips.
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
    const meant = nearest(name, names)
    yield {
      keys,
      problem: `is no preset${meant ? `; did you mean "${meant}"?` : `; there are ${names.join(', ') || 'none'}`}`,
    }
    return
  }
  const [misfit] = listProblems(Mapping, preset.mapping)
  for (const lack of listProblems(
    preset.config ?? {},
    resolvePresetSettings(preset, presetSection(config.hooks, name)),
  )) {
    yield { keys: ['hooks', name, ...lack.keys], problem: lack.problem }
  }
  if (misfit) yield { keys, problem: `is a preset whose mapping cannot be used: ${misfit.path} ${misfit.problem}` }
  // What Google pushes may come by way of a watcher that has the hook token.
  if (preset.auth && preset.auth.scheme !== 'google-oidc' && !presetSection(config.hooks, name).auth) {
    const problem = `has no hooks.${name}.auth: it is reached with the hook token alone, and what the service signs is not looked at`
    yield { keys, problem, warning: true }
  }
  const section = presetSection(config.hooks, name)
  const mapping = { ...preset.mapping, ...section } as MappingConfig
  const findings = [...(preset.toAction ? [] : textWarnings(mapping)), ...replyWarnings(mapping, context)]
  // What the section says is told at its key, what the preset itself says at its name.
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
    yield { keys, problem: `has no effect, since hooks.presets does not name "${name}"`, warning: true }
  const findings = [...actionRules(section, context)]
  if (auth) findings.push(...authRules({ ...extensions.presets.get(name)?.auth, ...auth }, config.gateway.publicUrl))
  for (const { keys: inside, ...rest } of findings) yield { keys: [...keys, ...inside], ...rest }
}

function* authRules(auth: object, publicUrl: string | undefined): Iterable<RuleFinding> {
  const misfits = listProblems(HookAuth, auth)
  const findings = misfits.length > 0 ? misfits : hookAuthRules(auth as HookAuth, publicUrl)
  for (const { keys, ...rest } of findings) yield { keys: ['auth', ...keys], ...rest }
}
