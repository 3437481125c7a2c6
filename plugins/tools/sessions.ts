// Tools for sessions: list them, read them, send messages to them, and start subagents.
import { defineTool, defineToolset, InputError, type RunReport, type Static, Type } from 'svc-gateway/plugin'

const notBlank = String.raw`\S`

const StatusArgs = Type.Object(
  {
    sessionKey: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: 'The session, as in sessions_list. Default: this session.',
      }),
    ),
  },
  { additionalProperties: false },
)

const sessionStatus = defineTool<Static<typeof StatusArgs>>({
  name: 'session_status',
  external: 'none',
  changes: 'nothing',
  group: 'sessions',
  description: 'Returns the state of a session: its last route, waiting events, and queued and running runs.',
  args: StatusArgs,
  effects: ({ sessionKey }, context) =>
    sessionKey === undefined || sessionKey.trim() === context.sessionKey ? [] : ['reads-private'],
  async execute({ sessionKey }, context) {
    const key = sessionKey?.trim() ?? context.sessionKey
    const status = await context.sessions.status(key)
    if (status) return status
    // The caller's own session exists from its first message on; until then it is empty.
    if (key === context.sessionKey)
      return { key, agentId: context.agentId, waitingEvents: 0, queuedRuns: 0, runningRuns: 0, transcriptMessages: 0 }
    throw new InputError(noSession)
  },
})

const noSession = 'There is no session with this sessionKey; sessions_list shows the sessions.'

const ListArgs = Type.Object(
  {
    agentId: Type.Optional(Type.String({ pattern: notBlank, description: 'Only the sessions of this agent.' })),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, description: 'How many sessions to list; default: 50.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsList = defineTool<Static<typeof ListArgs>>({
  name: 'sessions_list',
  external: 'none',
  changes: 'nothing',
  group: 'sessions',
  description: 'Lists sessions, the most recently used first.',
  args: ListArgs,
  effects: ['reads-private'],
  execute: async (args, context) => ({ items: await context.sessions.list(args) }),
})

const HistoryArgs = Type.Object(
  {
    sessionKey: Type.String({ pattern: notBlank, description: 'The session, as in sessions_list, or `main`.' }),
    limit: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 200, description: 'How many messages to read; default: 50.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsHistory = defineTool<Static<typeof HistoryArgs>>({
  name: 'sessions_history',
  external: 'none',
  changes: 'nothing',
  group: 'sessions',
  description: 'Reads the newest messages of a session, oldest first.',
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
    sessionKey: Type.String({ pattern: notBlank, description: 'The session, as in sessions_list, or `main`.' }),
    message: Type.String({ pattern: notBlank, maxLength: 100_000, description: 'The message.' }),
    waitSeconds: Type.Optional(
      Type.Number({
        minimum: 0,
        maximum: 300,
        description: 'How many seconds to wait for the reply; default: 30; 0: do not wait.',
      }),
    ),
  },
  { additionalProperties: false },
)

const sessionsSend = defineTool<Static<typeof SendArgs>>({
  name: 'sessions_send',
  external: 'none',
  group: 'sessions',
  description: 'Sends a message to another session and returns the reply of its agent.',
  args: SendArgs,
  changes: 'adds',
  // The reply can reveal what the other session knows. It sends nothing out: the same rules apply to the run there.
  effects: ['reads-private'],
  async execute({ sessionKey, message, waitSeconds = 30 }, { runs, caller, sessionKey: own }) {
    const started = await runs.start({ sessionKey, message })
    // The caller's session is busy with this call, so a reply could only come afterwards.
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
      description: 'The task, complete in itself: the subagent knows nothing else.',
    }),
    name: Type.Optional(
      Type.String({ pattern: notBlank, maxLength: 200, description: 'The name of the task in its summary.' }),
    ),
    agentId: Type.Optional(
      Type.String({
        pattern: notBlank,
        description: 'The agent, as in agents_list; default: this one.',
      }),
    ),
    model: Type.Optional(
      Type.String({ pattern: notBlank, description: 'Another model, as <provider>/<model> or an alias.' }),
    ),
    timeoutSeconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, maximum: 86_400, description: 'Longest duration of the task, in seconds.' }),
    ),
  },
  { additionalProperties: false },
)

const sessionsSpawn = defineTool<Static<typeof SpawnArgs>>({
  name: 'sessions_spawn',
  external: 'none',
  group: 'sessions',
  description:
    'Starts a subagent for a task in a session of its own. ' +
    'Returns at once; this session gets a summary when the task ends.',
  args: SpawnArgs,
  changes: 'adds',
  // A subagent knows only its task, and the effects of its tools count for this session.
  effects: [],
  execute: ({ task, ...rest }, { runs }) => runs.start({ message: task, ...rest }),
})

const agentsList = defineTool({
  name: 'agents_list',
  external: 'none',
  changes: 'nothing',
  group: 'sessions',
  description: 'Lists the agents of this gateway.',
  args: Type.Object({}, { additionalProperties: false }),
  effects: ['reads-private'],
  execute: (_args, { agents }) => ({ items: agents.list() }),
})

export default defineToolset({
  name: 'sessions',
  description: 'Sessions, agents and subagents.',
  tools: [sessionStatus, sessionsList, sessionsHistory, sessionsSend, sessionsSpawn, agentsList],
})
