// Checks the fields that a mapping produced against the schema of their endpoint, and plans the resulting actions.
import { actionFields, type ActionOverrides } from '../action.ts'
import { GatewayError } from '../errors.ts'
import { shortenSessionKey } from '../sessions/keys.ts'
import { type Check, compileCheck, firstProblem, Type } from '../typebox.ts'
import { type createAgentBody, type MappedReply, trimNames, WakeBody } from './schemas.ts'
import type { AgentWork, Plan, Planner, Source, WakeWork } from './dispatch.ts'

/** The fields of one action, as far as they are known. */
export interface MappedFields extends ActionOverrides {
  /** A session key that the operator chose: the rules for keys from requests do not apply to it. */
  operatorKey?: string | undefined
}

export type Action = ({ action: 'wake'; body: WakeWork } | { action: 'agent'; body: AgentWork }) & {
  /** A problem of the accepted action, which the response reports to the sender. */
  warning?: string
}

/** Throws `invalid_request` where the same fields in a request body would be rejected. */
export type ReadAction = (fields: MappedFields) => Action

export function createActionReader(agentBody: ReturnType<typeof createAgentBody>): ReadAction {
  const { agentId, sessionKey } = agentBody.properties
  const wake = lazily(() => compileCheck(Type.Object({ ...WakeBody.properties, agentId, sessionKey })))
  // Unlike the body of a request, a mapping may choose the account and the thread.
  const { accountId, threadId } = Type.Partial(Type.Object(actionFields)).properties
  const agent = lazily(() => compileCheck(Type.Object({ ...agentBody.properties, accountId, threadId })))
  return ({ action = 'agent', text, idempotencyKey: _key, ...body }) => {
    trimNames(body)
    shortenKeys(body)
    if (action === 'wake') return { action, body: checked(wake(), wakeFields(text, body)) as WakeWork }
    return { action, body: checked(agent(), body) as AgentWork }
  }
}

/** A key of which nothing is left is not set. */
function shortenKeys(body: MappedFields): void {
  for (const name of ['sessionKey', 'operatorKey'] as const) {
    const key = body[name]
    if (key !== undefined) body[name] = shortenSessionKey(key) || undefined
  }
}

const wakeFields = (
  text: string | undefined,
  { wakeMode: mode, agentId, sessionKey, operatorKey }: MappedFields,
): object => defined({ text, mode, agentId, sessionKey, operatorKey })

function checked(check: Check, body: object): object {
  if (check.fits(body)) return body
  throw new GatewayError(
    'invalid_request',
    `The hook makes no valid action of this payload: ${firstProblem(check.problems(body), 'it')}.`,
  )
}

/** Copies the fields that have a value. */
export function defined<Values extends object>(values: Values): Partial<Values> {
  const given: Partial<Values> = {}
  for (const key in values) if (values[key] !== undefined && key !== '__proto__') given[key] = values[key]
  return given
}

/** Makes a value when it is needed for the first time. */
export function lazily<Made>(make: () => Made): () => Made {
  let made: Made | undefined
  return () => (made ??= make())
}

/** Plans all actions of one request as one piece of work. A single action gets the reply of its own endpoint. */
export function planActions(planner: Planner, actions: readonly Action[], source: Source): Plan<object> {
  const plans = actions.map((action) =>
    action.action === 'wake' ? planner.planWake(action.body, source) : planner.planAgent(action.body, source),
  )
  const warnings = [
    ...new Set([
      ...plans.flatMap(({ reply }) => warningsOf(reply)),
      ...actions.flatMap(({ warning }) => warning ?? []),
    ]),
  ]
  const noted = warnings.length > 0 && { warnings }
  const [first] = plans
  if (plans.length === 1 && first) return noted ? { ...first, reply: { ...first.reply, ...noted } } : first
  const events = plans.flatMap(({ work }) => work.events ?? [])
  const runs = plans.flatMap(({ work }) => work.runs ?? [])
  const reply: MappedReply = {
    ok: true,
    ...(runs.length > 0 && { runIds: runs.map(({ id }) => id) }),
    ...(events.length > 0 && { eventIds: events.map(({ id }) => id) }),
    ...noted,
  }
  return { work: { ...(events.length > 0 && { events }), ...(runs.length > 0 && { runs }) }, reply }
}

const warningsOf = (reply: object): readonly string[] =>
  ('warnings' in reply ? (reply.warnings as readonly string[] | undefined) : undefined) ?? []
