// Checks the conditions in `match` and `skip`: paths are valid, and headers can be read.
import type { Condition, Conditions, Scalar, SkipConditions } from '../schema/conditions.ts'
import { isSecretName } from '../../kit/secret-names.ts'
import { parsePath } from '../template/path.ts'
import { at, type RuleFinding } from './rule.ts'

export function* conditionRules({ headers = {}, payload = {}, item = {} }: SkipConditions): Iterable<RuleFinding> {
  for (const [name, condition] of Object.entries(headers)) {
    const problem = findHeaderProblem(name) ?? findValueProblem(condition)
    if (problem !== undefined) yield { keys: ['headers', name], problem }
  }
  yield* pathRules(payload, ['payload', 'the payload'])
  yield* pathRules(item, ['item', 'the element'])
}

function* pathRules(
  conditions: NonNullable<Conditions['payload']>,
  [key, of]: [string, string],
): Iterable<RuleFinding> {
  for (const [path, condition] of Object.entries(conditions)) {
    const problem = parsePath(path)
      ? findRounded(condition)
      : `is not a path in ${of}; write a path such as "issue.state" or "items[0].id"`
    if (problem !== undefined) yield { keys: [key, path], problem }
  }
}

/** The file is read with numbers, and a payload with all digits. */
const findRounded = (condition: Condition): string | undefined =>
  valuesOf(condition).some((value) => Number.isInteger(value) && !Number.isSafeInteger(value))
    ? 'is compared with an integer beyond 2^53, which a number cannot hold exactly; write its digits in quotes'
    : undefined

/** The conditions of `skip`, each with its keys. */
export function* skipRules(skip: SkipConditions | readonly SkipConditions[], forEach?: string): Iterable<RuleFinding> {
  const entries = 'length' in skip ? skip.map((one, index) => [one, [String(index)]] as const) : [[skip, []] as const]
  // Invalid entries have left holes, which `map` keeps.
  for (const [conditions, keys] of entries.filter(Boolean)) {
    yield* at(keys, conditionRules(conditions))
    if (conditions.item && forEach === undefined)
      yield { keys: [...keys, 'item'], problem: 'needs forEach, whose elements it looks at; write payload instead' }
  }
}

function findHeaderProblem(name: string): string | undefined {
  if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) return 'is not the name of a header; write a name such as "x-event"'
  return isSecretName(name)
    ? 'is a header with a credential or a signature, which conditions cannot read; use "auth" to check it'
    : undefined
}

/** The value of a header is a text, so that another value could never be equal. */
function findValueProblem(condition: Condition): string | undefined {
  const wrong = valuesOf(condition).find((value) => typeof value !== 'string')
  return wrong === undefined
    ? undefined
    : `is compared with ${String(wrong)}, but headers are text; write "${String(wrong)}"`
}

function valuesOf(condition: Condition): readonly Scalar[] {
  if (typeof condition !== 'object' || condition === null) return [condition]
  const { equals, contains, in: values = [], not } = condition
  const single = [equals, contains].filter((value): value is Scalar => value !== undefined)
  return [...single, ...values, ...(not === undefined ? [] : valuesOf(not))]
}
