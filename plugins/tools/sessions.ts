// Tools that tell about sessions: which there are, and how one stands.
import { defineTool, defineToolset, InputError, type Static, Type } from 'svc-gateway/plugin'

const StatusArgs = Type.Object(
  { sessionKey: Type.Optional(Type.String({ pattern: String.raw`\S`, description: 'The session, as sessions_list names it. Left out: this session.' })) },
  { additionalProperties: false },
)

const sessionStatus = defineTool<Static<typeof StatusArgs>>({
  name: 'session_status',
  group: 'sessions',
  description: 'Tells how a session stands: its last message, waiting events, and runs that wait or go on.',
  args: StatusArgs,
  async execute({ sessionKey }, context) {
    const key = sessionKey?.trim() ?? context.sessionKey
    const status = await context.sessions.status(key)
    if (status) return status
    // The caller's own session exists from its first message on; until then it is simply empty.
    if (key === context.sessionKey) return { key, agentId: context.agentId, waitingEvents: 0, queuedRuns: 0, runningRuns: 0, transcriptMessages: 0 }
    throw new InputError('There is no session with this sessionKey; sessions_list names those that there are.')
  },
})

const ListArgs = Type.Object(
  {
    agentId: Type.Optional(Type.String({ pattern: String.raw`\S`, description: 'Only the sessions of this agent.' })),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, description: 'Most sessions to list; 50 if left out.' })),
  },
  { additionalProperties: false },
)

const sessionsList = defineTool<Static<typeof ListArgs>>({
  name: 'sessions_list',
  group: 'sessions',
  description: 'Lists sessions, the most recently used first.',
  args: ListArgs,
  execute: async (args, context) => ({ items: await context.sessions.list(args) }),
})

export default defineToolset({
  name: 'sessions',
  description: 'Tells about the sessions of the gateway.',
  tools: [sessionStatus, sessionsList],
})
