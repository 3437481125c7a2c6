// A platform that limits calls while a channel connects: the error says when to try again, which the supervisor obeys.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import discord from '../../channels/discord/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import msteams from '../../channels/msteams/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { Channel } from '../../core/plugin/plugin.ts'
import { isAuthError } from '../../core/plugin/errors.ts'
import { createTestContext } from '../contracts/context.ts'

/** The body has what Telegram and Discord say of the limit. */
const limit = {
  ok: false,
  error_code: 429,
  description: 'Too Many Requests: retry after 60',
  parameters: { retry_after: 60 },
  message: 'You are being rate limited.',
  retry_after: 60,
  global: false,
}

/** Discord allows 1000 sessions a day, and resets the token of a bot that begins more. */
const exhausted = {
  url: 'ws://127.0.0.1:9',
  shards: 1,
  session_start_limit: { total: 1000, remaining: 0, reset_after: 60_000, max_concurrency: 1 },
}

/** What is answered before the limit, by the last part of the path. Everything else is limited. */
type Answers = Record<string, unknown>
const bot = { id: '900000000000000001', username: 'bot' }
const cloud = { accessToken: 'a', phoneNumberId: '1', appSecret: 's', verifyToken: 'v' }
const teams = { appId: 'a', appPassword: 'p', tenantId: 't' }
const cases: [name: string, channel: unknown, settings: (url: string) => object, answers?: Answers][] = [
  ['telegram', telegram, (apiRoot) => ({ botToken: '1:a', apiRoot })],
  [
    'telegram, at its second call',
    telegram,
    (apiRoot) => ({ botToken: '1:a', apiRoot }),
    { getMe: { ok: true, result: { id: 1, username: 'bot' } } },
  ],
  ['slack', slack, (apiRoot) => ({ botToken: 'xoxb-a', appToken: 'xapp-a', apiRoot: `${apiRoot}/` })],
  [
    'slack, when it opens the socket',
    slack,
    (apiRoot) => ({ botToken: 'xoxb-a', appToken: 'xapp-a', apiRoot: `${apiRoot}/` }),
    { 'auth.test': { ok: true, user_id: 'U0BOT' } },
  ],
  ['discord', discord, (apiRoot) => ({ token: 'a.b.c', apiRoot: `${apiRoot}/api` })],
  [
    'discord, when it opens the socket',
    discord,
    (apiRoot) => ({ token: 'a.b.c', apiRoot: `${apiRoot}/api` }),
    { '@me': bot },
  ],
  [
    'discord, without sessions for today',
    discord,
    (apiRoot) => ({ token: 'a.b.c', apiRoot: `${apiRoot}/api` }),
    { '@me': bot, bot: exhausted },
  ],
  ['mattermost', mattermost, (baseUrl) => ({ botToken: 'a', baseUrl })],
  ['msteams', msteams, (url) => ({ ...teams, tokenUrl: `${url}/token` })],
  ['signal', signal, (httpUrl) => ({ account: '+15550000001', httpUrl })],
  ['whatsapp', whatsapp, (apiRoot) => ({ ...cloud, apiRoot })],
]

it.each(cases)(
  'the error of connect says how long to wait: %s',
  async (...[_name, channel, settingsOf, answers = {}]) => {
    const headers = { 'retry-after': '60', 'x-ratelimit-scope': 'user' }
    const server = createServer((request, response) => {
      const answer =
        answers[
          decodeURIComponent(request.url ?? '')
            .split('/')
            .at(-1) ?? ''
        ]
      response.setHeader('content-type', 'application/json')
      response.writeHead(answer ? 200 : 429, answer ? {} : headers).end(JSON.stringify(answer ?? limit))
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void (server.closeAllConnections(), server.close()))
    const settings = settingsOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
    const context = {
      ...createTestContext(),
      accountId: 'default',
      receive: async () => 'accepted',
      lost: () => undefined,
    }
    const connecting = (channel as Channel).connect(settings, context as never)
    await expect(connecting).rejects.toMatchObject({ retryAfterMs: 60_000 })
    await expect(connecting).rejects.not.toSatisfy(isAuthError)
  },
)
