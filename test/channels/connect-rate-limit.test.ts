// A platform that limits calls while a channel connects: the error says when to try again, which the supervisor obeys.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import discord from '../../channels/discord/index.ts'
import telegram from '../../channels/telegram/index.ts'
import slack from '../../channels/slack/index.ts'
import { createTestContext } from '../contracts/context.ts'
import { startSlack } from '../doubles/slack.ts'
import { openTelegram } from '../doubles/telegram.ts'
import { openDouble } from './connect-channel.ts'

const tooMany = { status: 429, description: 'Too Many Requests: retry after 60', parameters: { retry_after: 60 } }

describe('a rate limit during connect', () => {
  it('says how long to wait (Telegram)', async () => {
    const double = await openDouble(openTelegram())
    double.fail('getMe', tooMany)
    const context = { ...createTestContext(), accountId: 'default', receive: async () => 'accepted' as const }
    const error = await telegram.connect(double.config, { ...context, lost: () => undefined }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ retryAfterMs: 60_000 })
  })

  it('says how long to wait (Slack)', async () => {
    const double = await openDouble(startSlack())
    double.faultNext('apps.connections.open', { status: 429, headers: { 'retry-after': '60' } })
    const context = { ...createTestContext(), accountId: 'default', receive: async () => 'accepted' as const }
    const error = await slack.connect(double.config, { ...context, lost: () => undefined }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ retryAfterMs: 60_000 })
  })

  it('says how long to wait (Discord)', async () => {
    const server = createServer((_request, response) =>
      response
        .writeHead(429, { 'content-type': 'application/json', 'retry-after': '60', 'x-ratelimit-scope': 'user' })
        .end(JSON.stringify({ message: 'You are being rate limited.', retry_after: 60, global: false })),
    ).listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void (server.closeAllConnections(), server.close()))
    const apiRoot = `http://127.0.0.1:${(server.address() as AddressInfo).port}/api`
    const context = { ...createTestContext(), accountId: 'default', receive: async () => 'accepted' as const }
    const error = await discord.connect({ token: 'a.b.c', apiRoot }, { ...context, lost: () => undefined }).then(
      () => undefined,
      (reason: unknown) => reason,
    )
    expect(error).toMatchObject({ retryAfterMs: 60_000 })
  })
})
