// Pairing: unknown senders get a code, and the operator approves it over HTTP or with the command.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { describe, expect, it, vi } from 'vitest'
import { startChat } from '../../doubles/chat.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder } from '../../helpers.ts'
import { program } from '../../program.ts'

const agents = { defaults: { heartbeat: { every: 0 } } }
const authorization = `Bearer ${gatewayToken}`

async function start(settings: Document = {}, { chat: shared, dir = temporaryFolder() }: Partial<Shared> = {}) {
  const chat = shared ?? (await startChat())
  const gateway = await startGateway(
    { agents, ...chat.config(dir, { 'chat-native': { dmPolicy: 'pairing', ...settings } }) },
    dir,
  )
  const approve = (code: string) => gateway.post(`/api/pairings/${code}/approve`, {}, { authorization })
  const items = async () => (await gateway.get('/api/pairings')).body.items
  return { chat, approve, items, ...gateway }
}

interface Shared {
  chat: Awaited<ReturnType<typeof startChat>>
  dir: string
}

const codeIn = (text: string): string => /\b[A-HJ-NP-Z2-9]{8}\b/.exec(text)?.[0] ?? ''

describe('an unknown sender', () => {
  it('gets a code once, may write after the approval, and gets answers', async () => {
    const { chat, approve, items } = await start()
    const from = { id: 'Eve', name: 'Eve E.' }
    expect(await chat.say({ from, to: 'eve', threadId: 't1', route: { n: 1 }, text: 'Hello?' })).toBe('ignored')
    const [asked] = await chat.holds(1)
    expect(asked).toMatchObject({ to: 'eve', threadId: 't1', route: { n: 1 } })
    const code = codeIn(asked!.text)
    expect(await items()).toEqual([
      expect.objectContaining({ status: 'pending', channel: 'chat-native', accountId: 'default', sender: 'Eve', code }),
    ])
    expect(await chat.say({ from })).toBe('ignored')
    expect(await approve(code.toLowerCase())).toMatchObject({
      status: 200,
      body: { ok: true, channel: 'chat-native', accountId: 'default', sender: 'Eve', name: 'Eve E.' },
    })
    expect((await chat.holds(2))[1]).toMatchObject({ to: 'eve', text: expect.stringContaining('approved') })
    expect(await chat.say({ from: { id: 'eve' }, to: 'eve', text: 'Now?' })).toBe('accepted')
    expect((await chat.holds(3))[2]!.text).toContain('Received: Now?')
    expect(await items()).toEqual([expect.objectContaining({ status: 'approved', sender: 'Eve', name: 'Eve E.' })])
  })

  it('gets nothing in a group, or with dmPolicy "allowlist"', async () => {
    const { chat, items } = await start({ accounts: { a: {} } })
    expect(await chat.say({ group: 'group', mentioned: true, to: 'room' })).toBe('ignored')
    expect(await items()).toEqual([])
    const other = await start({ dmPolicy: 'allowlist' })
    expect(await other.chat.say({})).toBe('ignored')
    expect(await other.items()).toEqual([])
  })

  it('may write in a group after the approval', async () => {
    const { chat, approve } = await start()
    await chat.say({ from: { id: 'eve' } })
    await approve(codeIn((await chat.holds(1))[0]!.text))
    const inGroup = { group: 'group', mentioned: true, to: 'room' } as const
    expect(await chat.say({ from: { id: 'eve' }, ...inGroup })).toBe('accepted')
    expect(await chat.say({ from: { id: 'bob' }, ...inGroup })).toBe('ignored')
  })

  it('gets no code while three others wait', async () => {
    const { chat, items } = await start()
    const results = await Promise.all(['a', 'b', 'c', 'd', 'e'].map((id) => chat.say({ from: { id }, to: id })))
    expect(new Set(results)).toEqual(new Set(['ignored']))
    expect(await items()).toHaveLength(3)
    const codes = (await chat.holds(3)).map(({ text }) => codeIn(text))
    expect(new Set(codes).size).toBe(3)
  })

  it('gets another code when the first has expired, which is not accepted any more', async () => {
    const { chat, approve, items } = await start()
    await chat.say({ from: { id: 'eve' } })
    const first = codeIn((await chat.holds(1))[0]!.text)
    const later = Date.now() + 61 * 60 * 1000
    const clock = vi.spyOn(Date, 'now').mockImplementation(() => later)
    try {
      expect(await items()).toEqual([])
      expect(await approve(first)).toMatchObject({ status: 404, body: { error: { type: 'pairing_not_found' } } })
      await chat.say({ from: { id: 'eve' } })
      expect(codeIn((await chat.holds(2))[1]!.text)).not.toBe(first)
    } finally {
      clock.mockRestore()
    }
  })

  it('finds its code in no line of the log', async () => {
    const { chat, approve, logged } = await start()
    await chat.say({ from: { id: 'eve' } })
    const code = codeIn((await chat.holds(1))[0]!.text)
    await approve(code)
    await chat.holds(2)
    expect((await approve(code)).status).toBe(404)
    expect(logged.join('\n')).toContain('a sender was approved')
    expect(logged.join('\n')).toContain('/api/pairings/:code/approve')
    expect(logged.join('\n').toUpperCase()).not.toContain(code)
  })
})

describe('an approval', () => {
  it('survives a restart, and so does a code', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const before = await start({}, { chat, dir })
    await chat.say({ from: { id: 'eve' } })
    await chat.say({ from: { id: 'bob' } })
    const codes = (await chat.holds(2)).map(({ text }) => codeIn(text))
    await before.approve(codes[0]!)
    await chat.holds(3)
    await before.gateway.close()
    const after = await start({}, { chat, dir })
    expect(await chat.say({ from: { id: 'eve' } })).toBe('accepted')
    expect((await after.approve(codes[1]!)).status).toBe(200)
    expect(await chat.say({ from: { id: 'bob' } })).toBe('accepted')
  })

  it('holds for one account, and only while dmPolicy is "pairing"', async () => {
    const chat = await startChat()
    const dir = temporaryFolder()
    const before = await start({ accounts: { a: {} } }, { chat, dir })
    await chat.say({ from: { id: 'eve' } })
    await before.approve(codeIn((await chat.holds(1))[0]!.text))
    expect(await chat.say({ from: { id: 'eve' } })).toBe('accepted')
    await before.gateway.close()
    const other = await start({ accounts: { b: {} } }, { chat, dir })
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
    await other.gateway.close()
    await start({ dmPolicy: 'allowlist', accounts: { a: {} } }, { chat, dir })
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
  })

  it('can be withdrawn', async () => {
    const { chat, approve, post } = await start()
    await chat.say({ from: { id: 'eve' } })
    await approve(codeIn((await chat.holds(1))[0]!.text))
    const revoke = () => post('/api/pairings/revoke', { channel: 'chat-native', sender: 'EVE' }, { authorization })
    expect((await revoke()).body).toEqual({ ok: true })
    expect(await chat.say({ from: { id: 'eve' } })).toBe('ignored')
    expect((await revoke()).status).toBe(404)
  })

  it('needs the credential of the gateway', async () => {
    const { post, get } = await start()
    expect((await post('/api/pairings/ABCDEFGH/approve', {})).status).toBe(401)
    expect((await get('/api/pairings', { authorization: '' })).status).toBe(401)
  })
})

describe('svc-gateway pairing', () => {
  it('lists, approves and withdraws', async () => {
    const { chat, url, dir } = await start()
    const run = async (...args: string[]) => {
      const options = ['--config', `${dir}/gateway.json5`, '--url', url]
      return (await promisify(execFile)(process.execPath, [program, 'pairing', ...args, ...options])).stdout
    }
    await chat.say({ from: { id: 'eve', name: 'E\u001b[2Jve' } })
    const code = codeIn((await chat.holds(1))[0]!.text)
    expect(await run('list')).toMatch(
      new RegExp(String.raw`^pending  ${code}  eve \(E\\u001b\[2Jve\) on chat-native, account default  until 20.*\n$`),
    )
    expect(await run('approve', code)).toBe('Approved: eve (E\\u001b[2Jve) on chat-native, account default\n')
    expect(await run('revoke', 'chat-native', 'eve')).toBe('The approval was withdrawn.\n')
    await expect(run('approve', code)).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('No sender') })
  })

  it('prints one JSON object with --json', async () => {
    const { chat, url, dir } = await start()
    const run = async (...args: string[]) => {
      const options = ['--config', `${dir}/gateway.json5`, '--url', url, '--json']
      const { stdout, stderr } = await promisify(execFile)(process.execPath, [program, 'pairing', ...args, ...options])
      return { stderr, printed: JSON.parse(stdout) as unknown }
    }
    await chat.say({ from: { id: 'eve', name: 'E\u001b[2Jve' } })
    const code = codeIn((await chat.holds(1))[0]!.text)
    expect(await run('approve', code)).toEqual({
      stderr: '',
      printed: { ok: true, channel: 'chat-native', accountId: 'default', sender: 'eve', name: 'E\u001b[2Jve' },
    })
    expect(await run('revoke', 'chat-native', 'eve')).toEqual({ stderr: '', printed: { ok: true } })
    const refused = { code: 1, stdout: '', stderr: expect.stringMatching(/^No sender is waiting .+\.\n$/) }
    await expect(run('approve', code)).rejects.toMatchObject(refused)
    await expect(run('revoke', 'chat-native', 'eve')).rejects.toMatchObject(refused)
  })
})
