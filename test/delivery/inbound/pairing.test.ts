// Pairing: unknown senders get a code, and the operator approves it over HTTP or with the command.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { type Chat, startChat } from '../../doubles/chat.ts'
import { type Document, gatewayToken, type RunningGateway, startGateway, temporaryFolder } from '../../helpers.ts'
import { program } from '../../program.ts'
import { reconfigure } from '../../reconfigure.ts'
import { share } from '../../share.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const authorization = `Bearer ${gatewayToken}`

/** Starts a gateway with these channels. */
async function start(channels: Channels = { 'chat-native': { dmPolicy: 'pairing' } }) {
  const chat = await startChat()
  const dir = temporaryFolder()
  const config = (changed = channels) => ({ agents, ...chat.config(dir, changed) })
  const gateway = await startGateway(config(), dir)
  return { chat, config, ...use(chat, gateway), ...gateway }
}

type Channels = Parameters<Chat['config']>[1]

function use(chat: Chat, { get, post }: Pick<RunningGateway, 'get' | 'post'>) {
  /** Writes as an unknown sender, and returns the code that the sender gets. */
  const ask = async (id: string, name?: string) => {
    await chat.say({ from: { id, ...(name !== undefined && { name }) }, to: id })
    return codeIn((await chat.holds(1, id))[0]!.text)
  }
  const approve = (code: string) => post(`/api/pairings/${code}/approve`, {}, { authorization })
  const items = async (): Promise<Document[]> => (await get('/api/pairings')).body.items
  const itemsOf = async (sender: string) => (await items()).filter((item) => item['sender'] === sender)
  return { ask, approve, items, itemsOf }
}

const codeIn = (text: string): string => /\b[A-HJ-NP-Z2-9]{8}\b/.exec(text)?.[0] ?? ''

/** Each test has senders of its own. */
const shared = share(() =>
  start({
    'chat-native': { dmPolicy: 'pairing' },
    'chat-reconcile': { dmPolicy: 'pairing' },
    'chat-none': { dmPolicy: 'allowlist' },
  }),
)

describe('an unknown sender', () => {
  it('who was approved under one id may write under another one', async () => {
    const { chat, ask, approve } = shared()
    await approve(await ask('uuid-of-max'))
    expect(await chat.say({ from: { id: '+49', otherIds: ['uuid-of-max'] }, to: '+49' })).toBe('accepted')
    expect(await chat.say({ from: { id: '+48' }, to: '+48' })).toBe('ignored')
  })

  it('gets a code once, may write after the approval, and gets answers', async () => {
    const { chat, approve, itemsOf } = shared()
    const from = { id: 'Eve', name: 'Eve E.' }
    expect(await chat.say({ from, to: 'eve', threadId: 't1', route: { n: 1 }, text: 'Hello?' })).toBe('ignored')
    const [asked] = await chat.holds(1, 'eve')
    expect(asked).toMatchObject({ to: 'eve', threadId: 't1', route: { n: 1 } })
    const code = codeIn(asked!.text)
    expect(await itemsOf('Eve')).toEqual([
      expect.objectContaining({ status: 'pending', channel: 'chat-native', accountId: 'default', sender: 'Eve', code }),
    ])
    expect(await chat.say({ from })).toBe('ignored')
    expect(await approve(code.toLowerCase())).toMatchObject({
      status: 200,
      body: { ok: true, channel: 'chat-native', accountId: 'default', sender: 'Eve', name: 'Eve E.' },
    })
    expect((await chat.holds(2, 'eve'))[1]).toMatchObject({ text: expect.stringContaining('approved') })
    expect(await chat.say({ from: { id: 'eve' }, to: 'eve', text: 'Now?' })).toBe('accepted')
    expect((await chat.holds(3, 'eve'))[2]!.text).toContain('Received: Now?')
    expect(await itemsOf('Eve')).toEqual([
      expect.objectContaining({ status: 'approved', sender: 'Eve', name: 'Eve E.' }),
    ])
  })

  it('gets nothing in a group, or with dmPolicy "allowlist"', async () => {
    const { chat, itemsOf } = shared()
    const from = { id: 'nobody' }
    expect(await chat.say({ from, group: 'group', mentioned: true, to: 'room' })).toBe('ignored')
    expect(await chat.say({ from }, 'chat-none')).toBe('ignored')
    expect(await itemsOf('nobody')).toEqual([])
  })

  it('may write in a group after the approval', async () => {
    const { chat, approve, ask } = shared()
    await approve(await ask('member'))
    const inGroup = { group: 'group', mentioned: true, to: 'room' } as const
    expect(await chat.say({ from: { id: 'member' }, ...inGroup })).toBe('accepted')
    expect(await chat.say({ from: { id: 'stranger' }, ...inGroup })).toBe('ignored')
  })

  it('gets no code while three others wait', async () => {
    const { chat, items } = shared()
    const say = (id: string) => chat.say({ from: { id }, to: id }, 'chat-reconcile')
    expect(new Set(await Promise.all(['a', 'b', 'c', 'd', 'e'].map(say)))).toEqual(new Set(['ignored']))
    expect((await items()).filter(({ channel }) => channel === 'chat-reconcile')).toHaveLength(3)
    const codes = () => chat.held.flatMap(({ channel, text }) => (channel === 'chat-reconcile' ? [codeIn(text)] : []))
    await expect.poll(() => new Set(codes()).size).toBe(3)
  })

  it('gets another code when the first has expired, which is not accepted any more', async () => {
    const { chat, ask, approve, items } = await start()
    const first = await ask('eve')
    const later = Date.now() + 61 * 60 * 1000
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => later)
    try {
      expect(await items()).toEqual([])
      expect(await approve(first)).toMatchObject({ status: 404, body: { error: { type: 'pairing_not_found' } } })
      await chat.say({ from: { id: 'eve' }, to: 'eve' })
      expect(codeIn((await chat.holds(2, 'eve'))[1]!.text)).not.toBe(first)
    } finally {
      clock.mockRestore()
    }
  })

  it('finds its code in no line of the log', async () => {
    const { chat, ask, approve, logged } = shared()
    const code = await ask('reader')
    const before = logged.length
    await approve(code)
    await chat.holds(2, 'reader')
    expect((await approve(code)).status).toBe(404)
    const log = logged.slice(before).join('\n')
    expect(log).toContain('a sender was approved')
    expect(log).toContain('/api/pairings/:code/approve')
    expect(logged.join('\n').toUpperCase()).not.toContain(code)
  })
})

describe('an approval', () => {
  it('survives a restart, and so does a code', async () => {
    const { chat, ask, approve, config, dir, gateway } = await start()
    const codes = [await ask('eve'), await ask('bob')]
    await approve(codes[0]!)
    await chat.holds(2, 'eve')
    await gateway.close()
    const after = use(chat, await startGateway(config(), dir))
    expect(await chat.say({ from: { id: 'eve' } })).toBe('accepted')
    expect((await after.approve(codes[1]!)).status).toBe(200)
    expect(await chat.say({ from: { id: 'bob' } })).toBe('accepted')
  })

  it('holds for one account, and only while dmPolicy is "pairing"', async () => {
    const account = (id: string, dmPolicy = 'pairing') => ({ 'chat-native': { dmPolicy, accounts: { [id]: {} } } })
    const { chat, ask, approve, config, ...running } = await start(account('a'))
    await approve(await ask('eve'))
    expect(await chat.say({ from: { id: 'eve' } })).toBe('accepted')
    await reconfigure(running, config(account('b')))
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
    await reconfigure(running, config(account('a', 'allowlist')))
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
  })

  it('can be withdrawn', async () => {
    const { chat, ask, approve, post } = shared()
    await approve(await ask('guest'))
    const revoke = () => post('/api/pairings/revoke', { channel: 'chat-native', sender: 'GUEST' }, { authorization })
    expect((await revoke()).body).toEqual({ ok: true })
    expect((await revoke()).status).toBe(404)
    expect(await chat.say({ from: { id: 'guest' } })).toBe('ignored')
  })

  it('can be denied: the code is void, and the sender gets no other one while it would be valid', async () => {
    const { chat, ask, approve, itemsOf, post } = shared()
    const code = await ask('pest')
    const deny = () => post('/api/pairings/revoke', { channel: 'chat-native', sender: 'pest' }, { authorization })
    expect((await deny()).body).toEqual({ ok: true })
    expect(await itemsOf('pest')).toEqual([])
    expect((await approve(code)).status).toBe(404)
    expect((await deny()).status).toBe(404)
    expect(await chat.say({ from: { id: 'pest' }, to: 'pest' })).toBe('ignored')
    expect(await itemsOf('pest')).toEqual([])
    expect(chat.held.filter(({ to }) => to === 'pest')).toHaveLength(1)
  })

  it('needs the credential of the gateway', async () => {
    const { post, get } = shared()
    expect((await post('/api/pairings/ABCDEFGH/approve', {})).status).toBe(401)
    expect((await get('/api/pairings', { authorization: '' })).status).toBe(401)
  })
})

describe('svc-gateway pairing', () => {
  /** Each test withdraws the approvals that it has made. */
  const listed = share(() => start())
  const run = async (...args: string[]) => {
    const { url, dir } = listed()
    const options = ['--config', `${dir}/gateway.json5`, '--url', url]
    return await promisify(execFile)(process.execPath, [program, 'pairing', ...args, ...options])
  }

  it('lists, approves and withdraws', async () => {
    const code = await listed().ask('eve', 'E\u001b[2Jve')
    expect((await run('list')).stdout).toMatch(
      new RegExp(String.raw`^pending  ${code}  eve \(E\\u001b\[2Jve\) on chat-native, account default  until 20.*\n$`),
    )
    expect((await run('approve', code)).stdout).toBe('Approved: eve (E\\u001b[2Jve) on chat-native, account default\n')
    expect((await run('revoke', 'chat-native', 'eve')).stdout).toBe('The sender may not write to the agent.\n')
    await expect(run('approve', code)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('No sender') })
  })

  it('prints one JSON object with --json', async () => {
    const runJson = async (...args: string[]) => {
      const { stdout, stderr } = await run(...args, '--json')
      return { stderr, printed: JSON.parse(stdout) as unknown }
    }
    const code = await listed().ask('bob', 'B\u001b[2Job')
    expect(await runJson('approve', code)).toEqual({
      stderr: '',
      printed: { ok: true, channel: 'chat-native', accountId: 'default', sender: 'bob', name: 'B\u001b[2Job' },
    })
    expect(await runJson('revoke', 'chat-native', 'bob')).toEqual({ stderr: '', printed: { ok: true } })
    const refused = { code: 1, stdout: '', stderr: expect.stringMatching(/^No sender is waiting .+\.\n$/) }
    await expect(runJson('approve', code)).rejects.toMatchObject(refused)
    await expect(runJson('revoke', 'chat-native', 'bob')).rejects.toMatchObject(refused)
  })
})
