// The command `channels`: shows the accounts of the running gateway, links one, unlinks one, and checks one.
import { defineCommand } from 'svc-gateway/plugin'

const list = defineCommand({
  name: 'channels list',
  group: 'Show and link the channels of the running gateway.',
  description: 'List the configured accounts and their states.',
  needs: ['control'],
  json: 'one JSON object per line, as in the API',
  examples: ['channels list'],
  run: async (input, context) => (await import('./channels.ts')).listChannels(input, context),
})

const account = {
  arguments: { name: { description: 'the channel', completes: 'channel' } },
  options: { account: { value: '<id>', description: 'the account, if several are configured' } },
  needs: ['control'],
} as const

const login = defineCommand({
  name: 'channels login',
  description: 'Link an account: shows the code to scan or to type, and asks for what else the platform needs.',
  ...account,
  json: 'one JSON object per line: each code or question, and the result',
  examples: ['channels login whatsapp'],
  run: async (input, context) => (await import('./login.ts')).login(input, context),
})

const logout = defineCommand({
  name: 'channels logout',
  description: 'Unlink an account.',
  ...account,
  json: 'one JSON object, as in the API',
  examples: ['channels logout whatsapp --account work'],
  run: async (input, context) => (await import('./channels.ts')).logout(input, context),
})

const check = defineCommand({
  name: 'channels check',
  description: 'Send messages of all kinds to one recipient, connect the account again, and report what worked.',
  arguments: account.arguments,
  options: {
    to: { value: '<recipient>', description: 'the recipient, such as yourself', required: true },
    thread: { value: '<id>', description: 'the thread in which the messages are sent' },
    ...account.options,
  },
  needs: ['control'],
  json: 'one JSON object, as in the API',
  examples: ['channels check telegram --to 123456789'],
  run: async (input, context) => (await import('./check.ts')).check(input, context),
})

export default [list, login, logout, check]
