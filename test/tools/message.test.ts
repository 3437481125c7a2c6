// The message tool: where messages go, and that they are stored before the caller gets the result.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools } from './calls.ts'

/** Puts a file into the workspace of the agent. */
function putFile(dir: string, name: string, text: string): void {
  const workspace = join(dir, 'state/workspaces/main')
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, name), text)
}

/** For tests in which nobody writes, so that the session has no route. */
const shared = share(startTools)

describe('the message tool', () => {
  it('sends to a named recipient, and returns the delivery', async () => {
    const { result, sent } = shared()
    const answer = await result('message', { text: 'Dinner is ready.', channel: 'chat-native', to: 'bob' })
    expect(answer).toEqual({ deliveryId: expect.any(String), channel: 'chat-native', to: 'bob', status: 'pending' })
    expect(await sent('Dinner')).toMatchObject({
      to: 'bob',
      text: 'Dinner is ready.',
      key: `${answer.deliveryId}:0`,
    })
  })

  it('sends to the last route of the session by default, and belongs to the run', async () => {
    const { chat, get, sent } = await startTools()
    await chat.say({ text: 'Hi.', group: 'group', mentioned: true, to: 'team' })
    await chat.holds(1)
    await chat.say({ text: '/message {"text":"By the way."}' })
    const [, aside, reply] = await chat.holds(3)
    expect([aside, reply]).toMatchObject([{ to: 'ann', text: 'By the way.' }, { to: 'ann' }])
    const run = (await get(`/runs/${reply!.key.split(':')[0]}`)).body
    expect(run.deliveries).toMatchObject([{ to: 'ann', channel: 'chat-native', status: 'sent' }, { to: 'ann' }])
    await chat.say({ text: '/message {"text":"To the team."}', group: 'group', mentioned: true, to: 'team' })
    expect(await sent('To the team.')).toMatchObject({ to: 'team' })
  })

  it('stores the message before it returns, so that the next start can send it', async () => {
    const first = await startTools({
      gateway: { port: 0, auth: { token: 'gateway-token-of-the-tests-0123456789' }, drainSeconds: 0 },
    })
    first.chat.script('drop')
    await first.result('message', { text: 'Do not lose me.', channel: 'chat-native', to: 'bob' })
    await first.chat.attempted(1)
    await first.gateway.close()
    const second = await startTools({}, first.dir)
    const [sent] = await second.chat.holds(1)
    expect(sent).toMatchObject({ text: 'Do not lose me.' })
  })

  it.each([
    [{ text: 'x' }, /"whatsapp"/],
    [{ text: 'x', channel: 'pigeon', to: 'bob' }, /No plugin provides the channel "pigeon"/],
    [{ text: ' ' }, /args.text must not be blank/],
    [{ text: 'x', channel: 'chat-native' }, /has no recipient yet/],
  ])('refuses a message without a recipient: %o', async (args, sentence) => {
    const { call } = shared()
    expect(await call('message', args)).toMatchObject(refused(expect.stringMatching(sentence)))
  })

  it('sends to the channel and account in the headers by default', async () => {
    const { post, chat } = await startTools()
    await chat.say({ text: 'Hi.' })
    await chat.holds(1)
    const send = (args: object, channel: string) =>
      post(
        '/tools/invoke',
        { tool: 'message', args },
        { authorization: `Bearer ${gatewayToken}`, 'x-svc-message-channel': channel, 'x-svc-account-id': 'default' },
      )
    expect((await send({ text: 'x', to: 'bob' }, 'chat-native')).body.result).toMatchObject({ channel: 'chat-native' })
    expect(await send({ text: 'x', to: 'bob' }, 'chat-none')).toMatchObject(
      refused(expect.stringContaining('"chat-none" is not configured')),
    )
    const named = await send({ text: 'x', to: 'bob', channel: 'chat-native' }, 'chat-none')
    expect(named.body.result).toMatchObject({ channel: 'chat-native', to: 'bob' })
  })

  it('sends a file of the workspace', async () => {
    const { result, sent, dir } = shared()
    putFile(dir, 'report.csv', 'a,b')
    const args = { text: 'The report.', file: 'report.csv', channel: 'chat-native', to: 'bob' }
    await result('message', args)
    expect(await sent('The report.')).toMatchObject({ file: { name: 'report.csv', type: 'text/csv', data: 'a,b' } })
  })

  it.each([
    [{ file: 'nothing.txt' }, /path "nothing.txt" does not exist/],
    [{ file: '../gateway.json5' }, /path/],
    [{ file: '/etc/passwd' }, /path/],
    [{ file: 'large.txt' }, /has 1001 bytes; the channel "chat-native" sends at most 1000/],
    [{}, /text is required without a file/],
  ])('refuses a file that cannot be sent: %o', async (args, sentence) => {
    const { call, dir } = shared()
    putFile(dir, 'large.txt', 'x'.repeat(1001))
    expect(await call('message', { channel: 'chat-native', to: 'bob', ...args })).toMatchObject(
      refused(expect.stringMatching(sentence)),
    )
  })

  it('refuses a file on a channel that sends none', async () => {
    const { call, dir } = shared()
    putFile(dir, 'a.txt', 'a')
    expect(await call('message', { channel: 'console', to: 'bob', file: 'a.txt' })).toMatchObject(
      refused('The channel "console" sends no files.'),
    )
  })
})
