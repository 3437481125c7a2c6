// A platform that limits calls while a channel connects: the error says when to try again, which the supervisor obeys.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import discord from '../../channels/discord/index.ts'
import mattermost from '../../channels/mattermost/index.ts'
import signal from '../../channels/signal/index.ts'
import slack from '../../channels/slack/index.ts'
import telegram from '../../channels/telegram/index.ts'
import whatsapp from '../../channels/whatsapp/index.ts'
import type { Channel } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'

/** The body has what Telegram and Discord say of the limit. */
const body = JSON.stringify({
  ok: false,
  error_code: 429,
  description: 'Too Many Requests: retry after 60',
  parameters: { retry_after: 60 },
  message: 'You are being rate limited.',
  retry_after: 60,
  global: false,
})

const cloud = { accessToken: 'a', phoneNumberId: '1', appSecret: 's', verifyToken: 'v' }
const cases: [name: string, channel: unknown, settings: (url: string) => object][] = [
  ['telegram', telegram, (apiRoot) => ({ botToken: '1:a', apiRoot })],
  ['slack', slack, (apiRoot) => ({ botToken: 'xoxb-a', appToken: 'xapp-a', apiRoot: `${apiRoot}/` })],
  ['discord', discord, (apiRoot) => ({ token: 'a.b.c', apiRoot: `${apiRoot}/api` })],
  ['mattermost', mattermost, (baseUrl) => ({ botToken: 'a', baseUrl })],
  ['signal', signal, (httpUrl) => ({ account: '+15550000001', httpUrl })],
  ['whatsapp', whatsapp, (apiRoot) => ({ ...cloud, apiRoot })],
]

it.each(cases)('the error of connect says how long to wait: %s', async (_name, channel, settingsOf) => {
  const headers = { 'content-type': 'application/json', 'retry-after': '60', 'x-ratelimit-scope': 'user' }
  const server = createServer((_request, response) => response.writeHead(429, headers).end(body))
  await once(server.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void (server.closeAllConnections(), server.close()))
  const settings = settingsOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`)
  const context = {
    ...createTestContext(),
    accountId: 'default',
    receive: async () => 'accepted',
    lost: () => undefined,
  }
  await expect((channel as Channel).connect(settings as never, context as never)).rejects.toMatchObject({
    retryAfterMs: 60_000,
  })
})
