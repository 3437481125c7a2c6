// Checks what a transform returned.
import { overrideFields } from '../action.ts'
import type { TransformResult } from '../transform.ts'
import { type Check, compileCheck, firstProblem, Type } from '../typebox.ts'

/**
 * The type of each field. A value that the rules of the endpoint reject is the fault of the sender (400), so it is
 * checked there; only an unknown `action` is the fault of the transform.
 */
const typesOnly = Object.entries(overrideFields).map(([field, schema]) => [
  field,
  Type.Optional(field === 'action' ? schema : { type: 'type' in schema ? schema.type : 'string' }),
])

const Overrides = Type.Object(Object.fromEntries(typesOnly), { additionalProperties: false })

export type ReadResult = (text: string) => TransformResult

/** @throws {Error} with a problem that names a field, never a value */
export function createResultReader(): ReadResult {
  let one: Check | undefined
  return (text) => {
    if (text === '') return undefined
    one ??= compileCheck(Overrides)
    const result = JSON.parse(text) as TransformResult
    if (result === null) return null
    const actions = Array.isArray(result) ? result : [result]
    if (actions.length > maxActions)
      throw new Error(`it returned ${actions.length} actions; the maximum is ${maxActions}`)
    for (const action of actions)
      if (!one.fits(action)) throw new Error(firstProblem(one.problems(action), 'the result'))
    return result
  }
}

const maxActions = 200
