// Checking an account against its platform, through HTTP and the command line.
import { dirname } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { run } from '../cli/command-line.ts'
import { startReachable } from '../cli/reachable-gateway.ts'
import { gatewayToken, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'

const shared = share(async () => {
  const [chat, dir] = [await startChat(), temporaryFolder()]
  const accounts = chat.config(dir, { 'chat-native': {}, 'chat-reconcile': {}, 'chat-none': {} })
  const config = writeConfig(dir, accounts)
  const gateway = await startReachable(config)
  const check = async (channel: string, to = 'ann') => {
    const { status, body } = await gateway.post(
      `/api/channels/${channel}/check`,
      { to },
      { authorization: `Bearer ${gatewayToken}` },
    )
    return {
      status,
      body,
      outcomes: (body.checks ?? []).map(
        ({ name, outcome }: { name: string; outcome: string }) => `${name}: ${outcome}`,
      ),
    }
  }
  return { ...gateway, config, chat, check }
})

describe('POST /api/channels/<name>/check', () => {
  it('sends what the channel can send, and connects the account again', async () => {
    const { chat, check, get } = shared()
    const since = async () =>
      (await get('/api/channels')).body.accounts.find(({ channel }: { channel: string }) => channel === 'chat-native')
        .since
    const before = await since()
    const { outcomes } = await check('chat-native', 'Room 5')
    expect(outcomes).toEqual([
      ...['connected', 'text', 'style', 'longest text', 'repeat', 'typing', 'file', 'choices', 'reconnect'].map(
        (name) => `${name}: passed`,
      ),
      'text after reconnect: passed',
    ])
    const held = chat.held.filter(({ to }) => to === 'Room 5')
    expect(held.map(({ text, file }) => file?.name ?? text)).toEqual([
      expect.stringMatching(/^This is the check \w{8} of svc-gateway\.$/),
      expect.stringContaining('**Bold**'),
      `${'x'.repeat(79)}.`,
      'This message must be here once.',
      'check.txt',
      'This button goes again.',
      expect.stringMatching(/has ended\. Answer this message\.$/),
    ])
    expect(chat.cleared.map(({ to }) => to)).toContain('Room 5')
    expect(await since()).not.toBe(before)
  })

  it('skips what the channel does not do', async () => {
    const { outcomes } = await shared().check('chat-none')
    expect(outcomes.filter((one: string) => one.endsWith('skipped'))).toEqual(
      ['repeat', 'file', 'choices'].map((name) => `${name}: skipped`),
    )
  })

  it('says why a step has failed, and goes on', async () => {
    const { chat, check } = shared()
    chat.script({ answer: { outcome: 'failed', reason: 'permanent', detail: 'The room is closed.' } })
    const { body } = await check('chat-reconcile')
    expect(body.checks.slice(1, 3)).toMatchObject([
      { name: 'text', outcome: 'failed', detail: 'The room is closed.' },
      { name: 'style', outcome: 'passed' },
    ])
  })

  it.each([
    ['none', 'ann', /^The channel "none" is not configured/],
    ['chat-none', 'no!', /^to does not fit the channel "chat-none" \(The name of a room/],
  ])('refuses the channel %s with the recipient %s', async (channel, to, message) => {
    const { status, body } = await shared().check(channel, to)
    expect([status, body.error]).toEqual([400, { type: 'invalid_request', message: expect.stringMatching(message) }])
  })
})

describe('svc-gateway channels check', () => {
  it('prints the report without the recipient, and exits with 1 if a step failed', async () => {
    const { chat, config } = shared()
    const check = () =>
      run(dirname(config), ['channels', 'check', 'chat-native', '--to', 'Room 77', '--config', config])
    const passed = await check()
    expect(passed).toMatchObject({ code: 0, stderr: '' })
    expect(passed.stdout).toMatch(/text +passed +\d+ +One message that names the check\./)
    expect(passed.stdout).not.toContain('Room 77')
    chat.script({ answer: { outcome: 'failed', reason: 'auth', detail: 'The token is refused.' } })
    const failed = await check()
    expect(failed).toMatchObject({ code: 1, stderr: '1 of 10 steps failed.\n' })
    expect(failed.stdout).toMatch(/text +failed .*The token is refused\./)
  })
})
