// The command `sessions`: lists sessions, and shows one with its transcript.
import { parseCount } from 'svc-gateway/kit'
import { defineCommand } from 'svc-gateway/plugin'

const list = defineCommand({
  name: 'sessions list',
  group: 'List sessions and show one with its transcript.',
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

export default [list, show]
