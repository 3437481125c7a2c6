// What a transform may return, checked where it arrives.
import type { TransformResult } from '../plugin.ts'
import { type Check, compileCheck, firstProblem, Type } from '../typebox.ts'

const Text = Type.Optional(Type.String())

const Overrides = Type.Object(
  {
    action: Type.Optional(Type.Enum(['wake', 'agent'])),
    message: Text,
    text: Text,
    name: Text,
    agentId: Text,
    sessionKey: Text,
    wakeMode: Text,
    deliver: Type.Optional(Type.Boolean()),
    channel: Text,
    to: Text,
    accountId: Text,
    threadId: Text,
    model: Text,
    thinking: Text,
    timeoutSeconds: Type.Optional(Type.Number()),
    idempotencyKey: Text,
  },
  { additionalProperties: false },
)

export type ReadResult = (text: string) => TransformResult

/** @throws {Error} with a problem that names a field, never a value */
export function createResultReader(): ReadResult {
  const one: Check = compileCheck(Overrides)
  return (text) => {
    if (text === '') return undefined
    const result = JSON.parse(text) as TransformResult
    if (result === null) return null
    const actions = Array.isArray(result) ? result : [result]
    if (actions.length > maxActions)
      throw new Error(`it returned ${actions.length} actions; ${maxActions} are the most`)
    for (const action of actions)
      if (!one.fits(action)) throw new Error(firstProblem(one.problems(action), 'the result'))
    return result
  }
}

const maxActions = 200
