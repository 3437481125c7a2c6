// Tools around sessions: which there are, what was said in them, saying something in them, and subagents in sessions of
// their own.
import { defineTool, defineToolset, InputError, type RunReport, type Static, Type } from 'svc-gateway/plugin'

const notBlank = String.raw`\S`

const StatusArgs = Type.Object(
  {
    sessionKey: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: 'The session, as sessions_list names it. Left out: this session.',
      }),
    ),
  },
  { additionalProperties: false },
)

const sessionStatus = defineTool<Static<typeof StatusArgs>>({
  name: 'session_status',
  group: 'sessions',
  description: 'Tells how a session stands: its last message, waiting events, and runs that wait or go on.',
  args: StatusArgs,
  effects: ({ sessionKey }, context) =>
    sessionKey === undefined || sessionKey.trim() === context.sessionKey ? [] : ['reads-private'],
  async execute({ sessionKey }, context) {
    const key = sessionKey?.trim() ?? context.sessionKey
    const status = await context.sessions.status(key)
    if (status) return status
    // The caller's own session exists from its first message on; until then it is simply empty.
    if (key === context.sessionKey)
      return { key, agentId: context.agentId, waitingEvents: 0, queuedRuns: 0, runningRuns: 0, transcriptMessages: 0 }
    throw new InputError(noSession)
  },
})

const noSession = 'There is no session with this sessionKey; sessions_list names those that there are.'

const ListArgs = Type.Object(
  {
    agentId: Type.Optional(Type.String({ pattern: notBlank, description: 'Only the sessions of this agent.' })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, description: 'Most sessions to list; 50 if left out.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsList = defineTool<Static<typeof ListArgs>>({
  name: 'sessions_list',
  group: 'sessions',
  description: 'Lists sessions, the most recently used first.',
  args: ListArgs,
  effects: ['reads-private'],
  execute: async (args, context) => ({ items: await context.sessions.list(args) }),
})

const HistoryArgs = Type.Object(
  {
    sessionKey: Type.String({ pattern: notBlank, description: 'The session, as sessions_list names it, or `main`.' }),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, description: 'Most messages to read; 50 if left out.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsHistory = defineTool<Static<typeof HistoryArgs>>({
  name: 'sessions_history',
  group: 'sessions',
  description: 'Reads what was said in a session: its newest messages, oldest first.',
  args: HistoryArgs,
  effects: ['reads-private'],
  async execute({ sessionKey, limit = 50 }, { sessions }) {
    const items = await sessions.history(sessionKey, { limit })
    if (!items) throw new InputError(noSession)
    return { items }
  },
})

const SendArgs = Type.Object(
  {
    sessionKey: Type.String({ pattern: notBlank, description: 'The session, as sessions_list names it, or `main`.' }),
    message: Type.String({ pattern: notBlank, maxLength: 100_000, description: 'What to say there.' }),
    waitSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 300,
        description: 'How long to wait for the reply; 30 if left out, 0: do not wait, only hand it over.',
      }),
    ),
  },
  { additionalProperties: false },
)

const sessionsSend = defineTool<Static<typeof SendArgs>>({
  name: 'sessions_send',
  group: 'sessions',
  description: 'Says something in another session and returns what its agent replies.',
  args: SendArgs,
  // The reply tells what the other session knows. It sends nothing outward: the run there is bound as this one is.
  effects: ['reads-private'],
  async execute({ sessionKey, message, waitSeconds = 30 }, { runs, caller, sessionKey: own }) {
    const started = await runs.start({ sessionKey, message })
    // Its own session works on this very call: a reply could only come after it.
    const waits = waitSeconds > 0 && !(caller === 'agent' && started.sessionKey === own)
    const report = waits ? await runs.wait(started.runId, waitSeconds * 1000) : undefined
    return { ...started, ...outcome(report) }
  },
})

const outcome = (report: RunReport | undefined) => {
  if (!report) return { status: 'queued' }
  const { id: _id, ...rest } = report
  return rest
}

const SpawnArgs = Type.Object(
  {
    task: Type.String({
      pattern: notBlank,
      maxLength: 100_000,
      description: 'What to do, with everything that it takes to do it: the subagent knows nothing else.',
    }),
    name: Type.Optional(
      Type.String({ pattern: notBlank, maxLength: 200, description: 'What to call it where its result is announced.' }),
    ),
    agentId: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: 'The agent that does it, as agents_list names it; this one if left out.',
      }),
    ),
    model: Type.Optional(
      Type.String({ pattern: notBlank, description: 'Another model, as <provider>/<model> or an alias.' }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'Longest time it may take.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsSpawn = defineTool<Static<typeof SpawnArgs>>({
  name: 'sessions_spawn',
  group: 'sessions',
  description:
    'Has a subagent do a task on the side, in a session of its own. Answers at once; the result is announced here when it is there.',
  args: SpawnArgs,
  // A subagent begins with nothing but its task, and what its tools do counts here.
  effects: [],
  execute: ({ task, ...rest }, { runs }) => runs.start({ message: task, ...rest }),
})

const agentsList = defineTool({
  name: 'agents_list',
  group: 'sessions',
  description: 'Lists the agents of this gateway.',
  args: Type.Object({}, { additionalProperties: false }),
  effects: ['reads-private'],
  execute: (_args, { agents }) => ({ items: agents.list() }),
})

export default defineToolset({
  name: 'sessions',
  description: 'Sessions and agents: who there is, what was said, and working together.',
  tools: [sessionStatus, sessionsList, sessionsHistory, sessionsSend, sessionsSpawn, agentsList],
})
