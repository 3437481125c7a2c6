// The command `chat`: talks to an agent.
import { defineCommand } from 'svc-gateway/plugin'

export default defineCommand({
  name: 'chat',
  description: 'Talk to an agent. In a terminal, Ctrl-C cancels a turn, and ends the chat between turns.',
  arguments: {
    message: {
      description: 'one message, instead of a conversation; standard input if it is not a terminal',
      optional: true,
    },
  },
  options: {
    session: {
      value: '<key>',
      description: 'the session to talk in (default: the main session of the default agent)',
      completes: 'session',
    },
  },
  needs: ['control'],
  json: 'each reply as one JSON object',
  examples: ['chat', "chat 'What failed last night?'", 'chat --session review < notes.md'],
  run: async (input, context) => (await import('./chat.ts')).chat(input, context),
})
