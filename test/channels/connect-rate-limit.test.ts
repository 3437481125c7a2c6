// A platform that limits calls while a channel connects: the error says when to try again, which the supervisor obeys.
import { describe, expect, it } from 'vitest'
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
})
