// Checks one mapping that is written as JSON5, as it would be checked in `hooks.mappings`.
import { dotted } from '../typebox.ts'
import type { ConfigProblem } from './config-error.ts'
import { type Layout, readLayout } from './file/layout.ts'
import { parseJson5Object } from './file/read.ts'
import type { Finding } from './file/secrets.ts'
import { checkSchema } from './resolve.ts'
import { findMappingProblems } from './rules/mappings.ts'
import type { RuleContext } from './rules/rule.ts'
import { mappingSchema } from './schema/hooks.ts'
import type { MappingConfig } from './schema/schema.ts'

export interface ExaminedMapping {
  problems: ConfigProblem[]
  warnings: ConfigProblem[]
  /** The mapping without its `auth`, which may hold secrets. Absent: it has problems. */
  mapping?: MappingConfig
}

/**
 * Secrets and environment variables are neither resolved nor checked, so that the text may come from somebody who must
 * not know them.
 */
export function examineMapping(file: string, text: string, context: RuleContext): ExaminedMapping {
  const { auth: _auth, ...written } = parseJson5Object(file, text)
  const layout = readLayout(text)
  const { valid, problems: invalid } = checkSchema(mappingSchema(context.extensions), written)
  const mapping = valid as MappingConfig
  const findings = findMappingProblems(mapping, context)
  const problems = [...invalid, ...findings.filter(({ warning }) => !warning)].map((one) => place(one, layout))
  const warnings = findings.filter(({ warning }) => warning).map((one) => place(one, layout))
  return { problems, warnings, ...(problems.length === 0 && { mapping }) }
}

const place = ({ keys, problem }: Finding, { placeOf }: Layout): ConfigProblem => ({
  path: dotted(keys),
  ...placeOf(keys),
  problem,
})
