// Checks the conditions in `match` and `skip`: paths are valid, and headers can be read.
import type { Condition, Conditions } from '../schema/conditions.ts'
import { isSecretName } from '../secret-names.ts'
import { parsePath } from '../template/path.ts'
import type { RuleFinding } from './rule.ts'

export function* conditionRules({ headers = {}, payload = {} }: Conditions): Iterable<RuleFinding> {
  for (const [name, condition] of Object.entries(headers)) {
    const problem = findHeaderProblem(name) ?? findValueProblem(condition)
    if (problem !== undefined) yield { keys: ['headers', name], problem }
  }
  for (const path of Object.keys(payload))
    if (!parsePath(path)) {
      const problem = 'is not a path in the payload; write a path such as "issue.state" or "items[0].id"'
      yield { keys: ['payload', path], problem }
    }
}

/** The conditions of `skip`, each with its keys. */
export function* skipRules(skip: Conditions | readonly Conditions[]): Iterable<RuleFinding> {
  const entries = 'length' in skip ? skip.map((one, index) => [one, [String(index)]] as const) : [[skip, []] as const]
  // Invalid entries have left holes, which `map` keeps.
  for (const [conditions, keys] of entries.filter(Boolean))
    for (const finding of conditionRules(conditions)) yield { ...finding, keys: [...keys, ...finding.keys] }
}

function findHeaderProblem(name: string): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'is not the name of a header; write a name such as "x-event"'
  return isSecretName(name)
    ? 'is a header with a credential or a signature, which conditions cannot read; use "auth" to check it'
    : undefined
}

/** The value of a header is a text, so that another value could never be equal. */
function findValueProblem(condition: Condition): string | undefined {
  const tests = typeof condition === 'object' && condition !== null ? condition : { equals: condition }
  const values = [...('equals' in tests ? [tests.equals] : []), ...(tests.in ?? [])]
  const wrong = values.find((value) => typeof value !== 'string')
  return wrong === undefined ? undefined : `is compared with ${wrong}, but headers are text; write "${wrong}"`
}
