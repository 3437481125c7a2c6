// Logins of channels: what is shown, how they end, and what happens to the connection meanwhile.
import { describe, expect, it, onTestFinished } from 'vitest'
import { createConnections } from '../../core/delivery/connections/connections.ts'
import { createLogins } from '../../core/delivery/connections/login.ts'
import { createLoginTools, declareLoginTools } from '../../core/delivery/connections/login-tools.ts'
import { loadExtensions } from '../../core/loader/registry.ts'
import type { Tool } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'
import { createLoginChannel } from './login-channel.ts'

function start(accounts?: Record<string, Record<string, unknown>>) {
  const double = createLoginChannel()
  const { log, logged } = createTestContext()
  const states = new Map<string, ReturnType<typeof createTestContext>['state']>()
  const connections = createConnections({
    channels: new Map([['my-pager', double.channel]]),
    config: { 'my-pager': { enabled: true, ...(accounts && { accounts }) } },
    receive: async () => 'accepted',
    reportLateFailure: async () => undefined,
    moveGroup: async () => undefined,
    onConnected: () => undefined,
    state: (owner) => {
      if (!states.has(owner)) states.set(owner, createTestContext().state)
      return states.get(owner)!
    },
    findMissingPackages: () => undefined,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    log,
  })
  const hidden: string[] = []
  const logins = createLogins({
    connections,
    redact: (text) => text.replaceAll('hunter2', '[redacted]'),
    hide: (values) => void hidden.push(...values),
    log,
  })
  connections.open()
  onTestFinished(() => connections.close())
  const becomes = async (state: string) => await expect.poll(() => connections.states()[0]!.state).toBe(state)
  return { double, connections, logins, logged, hidden, becomes, target: { channel: 'my-pager' } }
}

describe('a login', () => {
  it('shows each step, links the account and connects it', async () => {
    const { double, logins, logged, becomes, target } = start()
    await becomes('login_required')
    const first = logins.start(target)
    await double.show({ qr: 'one-secret' })
    expect(await first).toEqual({ account: 'default', status: 'waiting', qr: 'one-secret' })
    await double.show({ qr: 'two-secret' })
    await expect.poll(() => logins.status(target)).toMatchObject({ status: 'waiting', qr: 'two-secret' })
    double.confirm()
    await becomes('connected')
    expect(logins.status(target)).toEqual({ account: 'default', status: 'linked' })
    expect(JSON.stringify(logged)).not.toContain('secret')
    expect(logged.map(({ message }) => message)).toEqual(
      expect.arrayContaining(['login started', 'login succeeded', 'channel connected']),
    )
  })

  it('hides its codes, and the keys in them, from the log', async () => {
    const { double, logins, hidden, target } = start()
    const first = logins.start(target)
    await double.show({ qr: 'sgnl://linkdevice?uuid=0123456789abcdef&pub_key=fedcba9876543210' })
    await first
    await double.show({ code: '1234-5678' })
    await expect.poll(() => logins.status(target)).toMatchObject({ code: '1234-5678' })
    expect(hidden).toEqual(expect.arrayContaining(['0123456789abcdef', 'fedcba9876543210', '1234-5678', '12345678']))
    await logins.cancel(target)
    expect(logins.status(target)).toMatchObject({ status: 'failed' })
  })

  it('shows an address with a code, and hides the code', async () => {
    const { double, logins, hidden, target } = start()
    const first = logins.start(target)
    const url = 'https://id.example/device?user_code=WDJB-MJHT-0123456789'
    await double.show({ url, code: 'WDJB-MJHT' })
    expect(await first).toEqual({ account: 'default', status: 'waiting', url, code: 'WDJB-MJHT' })
    expect(hidden).toEqual(expect.arrayContaining(['WDJB-MJHT', 'WDJBMJHT', 'WDJB-MJHT-0123456789']))
  })

  it.each([
    { url: 'javascript:alert(1)' },
    { url: 'http://id.example/device' },
    { url: '/device' },
    { url: 'https://id.example', code: 7 },
    { text: 'Hi.' },
  ])('fails if the channel shows %j', async (step) => {
    const { double, logins, target } = start()
    const first = logins.start(target)
    await double.show(step as never)
    expect(await first).toMatchObject({ status: 'failed', reason: expect.stringContaining('login must yield') })
  })

  it('asks the person, hides the answer, and goes on with it', async () => {
    const { double, logins, hidden, logged, becomes, target } = start()
    const first = logins.start(target)
    const password = double.ask({ question: 'Your password', secret: true })
    const { question, ...view } = await first
    expect([view, question]).toEqual([
      { account: 'default', status: 'waiting' },
      { id: expect.any(String), text: 'Your password', secret: true },
    ])
    const next = logins.answer(target, { questionId: question!.id, answer: 'open sesame' })
    expect(await password).toBe('open sesame')
    const code = double.ask({ question: 'Your code' })
    const after = await next
    expect(after).toMatchObject({ status: 'waiting', question: { text: 'Your code', secret: false } })
    await expect(logins.answer(target, { questionId: question!.id, answer: 'twice' })).rejects.toThrow(
      'The login does not ask this question any more; ask for its state.',
    )
    expect(logins.status(target)).toEqual(after)
    const last = logins.answer(target, { questionId: after.question!.id, answer: '123456' })
    expect(await code).toBe('123456')
    double.confirm()
    expect(await last).toMatchObject({ status: 'linked' })
    await becomes('connected')
    expect(hidden).toEqual(expect.arrayContaining(['open sesame', '123456']))
    expect(JSON.stringify(logged)).not.toMatch(/open sesame|123456/)
  })

  it('that ends while it asks ends the question', async () => {
    const { double, logins, target } = start()
    const first = logins.start(target)
    const answer = double.ask({ question: 'Your password' }).catch((error: Error) => error)
    const { question } = await first
    await logins.cancel(target)
    expect(await answer).toBeInstanceOf(Error)
    expect(logins.status(target)).toMatchObject({ status: 'failed' })
    const late = logins.answer(target, { questionId: question!.id, answer: 'x' })
    await expect(late).rejects.toThrow('does not ask this question any more')
  })

  it.each([[{}], [{ question: ' ' }], [{ question: 'Who?', secret: 'yes' }], [undefined]])(
    'fails if the channel asks %j',
    async (question) => {
      const { double, logins, target } = start()
      const first = logins.start(target)
      await expect(double.ask(question as never)).rejects.toThrow('ask needs { question, secret? }')
      double.confirm()
      expect(await first).toMatchObject({ status: 'linked' })
    },
  )

  it('is joined by whoever starts it again', async () => {
    const { double, logins, target } = start()
    const both = Promise.all([logins.start(target), logins.start(target)])
    await double.show({ code: '123-456' })
    expect(await both).toEqual([1, 2].map(() => ({ account: 'default', status: 'waiting', code: '123-456' })))
  })

  it('that fails says why, without secrets, and can be repeated', async () => {
    const { double, logins, becomes, target } = start()
    const first = logins.start(target)
    double.refuse(new Error('The phone said hunter2.'))
    expect(await first).toEqual({ account: 'default', status: 'failed', reason: 'The phone said [redacted].' })
    const second = logins.start(target)
    double.confirm()
    expect(await second).toMatchObject({ status: 'linked' })
    await becomes('connected')
  })

  it('keeps the account disconnected until it has ended', async () => {
    const { double, connections, logins, becomes, target } = start()
    void logins.start(target)
    double.confirm()
    await becomes('connected')
    void logins.start(target)
    await becomes('login_required')
    expect(connections.get('my-pager', 'default')!.connection).toBeUndefined()
    double.confirm()
    await becomes('connected')
  })

  it('ends when the gateway stops', async () => {
    const { double, connections, logins, target } = start()
    const first = logins.start(target)
    await double.show({ qr: 'one' })
    await first
    await connections.close()
    await expect.poll(() => logins.status(target)).toMatchObject({ status: 'failed' })
  })

  it('names what is missing if there is no such account or login', async () => {
    const { logins } = start({ one: {}, two: {} })
    await expect(logins.start({ channel: 'my-pager' })).rejects.toThrow(
      'The channel "my-pager" is not configured, or has several accounts; name one of them.',
    )
    await expect(logins.start({ channel: 'my-pager', account: 'three' })).rejects.toThrow('with the account "three"')
    expect(logins.status({ channel: 'my-pager', account: 'two' })).toMatchObject({ account: 'two' })
  })
})

describe('a logout', () => {
  it('unlinks the account', async () => {
    const { double, logins, becomes, target } = start()
    void logins.start(target)
    double.confirm()
    await becomes('connected')
    await logins.logout(target)
    await becomes('login_required')
    expect(logins.status(target)).toEqual({ account: 'default', status: 'not_linked', reason: 'Nobody is logged in.' })
  })

  it('ends a login that is under way', async () => {
    const { double, logins, becomes, target } = start()
    const first = logins.start(target)
    await double.show({ qr: 'one' })
    await first
    await logins.logout(target)
    await becomes('login_required')
    expect(logins.status(target)).toMatchObject({ status: 'not_linked' })
  })
})

describe('the tool of a login', () => {
  async function createTool() {
    const rig = start()
    const loaded = await loadExtensions({ plugins: [], dir: '/nonexistent', log: createTestContext().log })
    loaded.close()
    const extensions = { ...loaded, channels: new Map([['my-pager', rig.double.channel]]) }
    const { toolsets } = createLoginTools(extensions, { ...rig, audit: { done: async () => {} } }).extensions
    const offered: Tool<unknown>[] = []
    const context = { offer: (tools: readonly Tool<unknown>[]) => void offered.push(...tools) }
    await toolsets.get('channels')!.open!({}, context as never)
    const [tool] = offered as [Tool<unknown>]
    const call = (args: object) => Promise.resolve(tool.execute(args, {} as never))
    return { ...rig, extensions, tool, call }
  }

  it('has the name of the channel and the group of all logins', async () => {
    const { tool, extensions } = await createTool()
    expect([tool.name, tool.group]).toEqual(['my_pager_login', 'channels'])
    expect(declareLoginTools(extensions).toolsets.get('channels')!.expected!({})).toEqual([
      { name: 'my_pager_login', group: 'channels' },
    ])
  })

  it('returns a QR code as text and as a picture, and says when the account is linked', async () => {
    const { double, call, becomes } = await createTool()
    const first = call({ action: 'start' })
    await double.show({ qr: 'hello' })
    expect(await first).toMatchObject({ status: 'waiting', qr: 'hello', picture: expect.stringContaining('█ ▄▄▄▄▄ █') })
    double.confirm()
    await becomes('connected')
    expect(await call({ action: 'status' })).toEqual({ account: 'default', status: 'linked' })
    expect(await call({ action: 'logout' })).toEqual({ status: 'not_linked' })
    await becomes('login_required')
  })
})
