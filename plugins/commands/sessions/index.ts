// The command `sessions`: lists sessions, shows one with its transcript, and deletes one.
import { parseCount } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

const list = defineCommand({
  name: 'sessions list',
  group: 'List sessions, show one with its transcript, and delete one.',
  description: 'List sessions, the most recently used first.',
  options: { agent: { value: '<id>', description: 'only sessions of this agent', completes: 'agent' } },
  needs: ['control'],
  limit: 50,
  json: 'one JSON object per line, as in the API',
  examples: ['sessions list --agent main'],
  run: async (input, context) => (await import('./sessions.ts')).listSessions(input, context),
})

const show = defineCommand({
  name: 'sessions show',
  description: 'Show a session with its waiting events and the newest lines of its transcript.',
  arguments: {
    key: {
      description: 'the key of the session; "main" is the main session of the default agent',
      completes: 'session',
    },
  },
  options: {
    limit: {
      value: '<number>',
      description: 'maximum number of transcript lines, up to 200',
      parse: parseCount,
      default: 50,
    },
  },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['sessions show main'],
  run: async (input, context) => (await import('./sessions.ts')).showSession(input, context),
})

const remove = defineCommand({
  name: 'sessions delete',
  description: 'Delete a session with its transcript, its waiting events and its runs.',
  arguments: {
    key: {
      description: 'the key of the session; "main" is the main session of the default agent',
      completes: 'session',
    },
  },
  options: { yes: { description: 'delete the session without asking' } },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['sessions delete hook:customer-42 --yes'],
  run: async (input, context) => (await import('./sessions.ts')).deleteSession(input, context),
})

export default [list, show, remove]
