// Checks the mapping and the authentication that a preset declares, as the configuration is checked.
import { listSchemaProblems } from '../config/resolve.ts'
import { skipRules } from '../config/rules/conditions.ts'
import { hookAuthRules } from '../config/rules/hook-auth.ts'
import { sessionKeyWarnings, templateRules, textWarnings } from '../config/rules/mappings.ts'
import { at, type RuleFinding } from '../config/rules/rule.ts'
import { type HookAuth, hookAuthSchema } from '../config/schema/hook-auth.ts'
import { Mapping, type MappingConfig } from '../config/schema/mappings.ts'
import type { Schemes } from '../config/schemes.ts'
import type { Preset } from '../plugin/plugin.ts'
import { dotted, type JsonSchema } from '../typebox.ts'
import { type Fault, fault } from './members.ts'

/** @param schemes all schemes: those of other plugins, too */
export function* presetFaults(preset: Preset<never, never>, schemes: Schemes): Iterable<Fault> {
  const { auth, mapping } = preset
  yield* faultsOf(
    'mapping',
    checkWith(Mapping, mapping, () => mappingRules(preset)),
  )
  if (!auth) return
  for (const key of ['secret', 'secrets'].filter((one) => one in auth))
    yield fault(`auth.${key}`, `\`auth.${key}\` is known to whoever has the plugin; remove it: the operator adds it`)
  const rules = () => hookAuthRules(auth as HookAuth, { schemes, isDeclaration: true })
  yield* faultsOf('auth', checkWith(hookAuthSchema(schemes), auth, rules))
}

function* mappingRules(preset: Preset<never, never>): Iterable<RuleFinding> {
  const mapping = preset.mapping as MappingConfig
  yield* templateRules(mapping)
  yield* sessionKeyWarnings(mapping)
  if (mapping.skip) yield* at(['skip'], skipRules(mapping.skip, mapping.forEach))
  if (!preset.toAction) yield* textWarnings(mapping)
}

/** What does not fit the schema, or else what the rules find. */
function* checkWith(schema: JsonSchema, value: unknown, rules: () => Iterable<RuleFinding>): Iterable<RuleFinding> {
  const problems = listSchemaProblems(schema, value)
  if (problems.length > 0) yield* problems
  else yield* rules()
}

function* faultsOf(place: string, findings: Iterable<RuleFinding>): Iterable<Fault> {
  for (const { keys, problem, warning = false } of findings) {
    const member = [place, dotted(keys)].filter(Boolean).join('.')
    yield { member, problem: `\`${member}\` ${problem}`, ...(warning && { warning }) }
  }
}
