// The command `tools`: lists the tools that a session has over HTTP, runs one, and explains why one is allowed or not.
import { defineCommand } from 'svc-gateway/plugin'

const session = {
  value: '<key>',
  description: 'the session of the call (default: the main session)',
  completes: 'session',
} as const
const tool = { description: 'the name of the tool', completes: 'tool' } as const

const list = defineCommand({
  name: 'tools list',
  group: 'List, run and explain tools.',
  description: 'List the tools that a call over HTTP may use.',
  options: { session },
  needs: ['control'],
  json: 'one JSON object per line, as in the API',
  examples: ['tools list', 'tools list --session agent:main:hook:deploys'],
  run: async (input, context) => (await import('./tools.ts')).listTools(input, context),
})

const invoke = defineCommand({
  name: 'tools invoke',
  description: 'Run a tool and print its result.',
  arguments: { tool },
  options: {
    args: { value: '<json>', description: 'its arguments as JSON; @<file> reads a file, and "-" standard input' },
    session,
  },
  needs: ['control'],
  json: 'the result as JSON in one line',
  examples: ['tools invoke session_status', `tools invoke read --args '{"path":"notes.md"}'`],
  run: async (input, context) => (await import('./tools.ts')).invokeTool(input, context),
})

const explain = defineCommand({
  name: 'tools explain',
  description: 'Explain which layer of the policy allows or denies a tool.',
  arguments: { tool },
  options: {
    origin: {
      value: '<origin>',
      description:
        'explain it for a turn that a webhook, a person or the heartbeat starts, with the texts that it sees',
      choices: ['hook', 'chat', 'heartbeat'],
    },
    session,
  },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['tools explain exec --origin hook', 'tools explain exec --origin chat --session main'],
  run: async (input, context) => (await import('./tools.ts')).explainTool(input, context),
})

export default [list, invoke, explain]
