// Session keys: who may choose one, how it is normalized, and that the same key continues a conversation.
import { describe, expect, it } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { type Document, startGateway } from '../helpers.ts'
import { reconfigure } from '../reconfigure.ts'
import { share } from '../share.ts'

const still = { wakeMode: 'next-heartbeat', deliver: false }
const agents = { defaults: { heartbeat: { every: 0 } }, main: {}, ops: {} }

describe('the session of an agent hook', () => {
  const shared = share(() => startGateway({ agents }))

  /** The session of each request under these settings, or the status of its error. */
  async function sessions(hooks: Document, bodies: Document[]): Promise<unknown[]> {
    await reconfigure(shared(), { agents, hooks })
    const { post } = shared()
    const answers = await Promise.all(bodies.map((body) => post('/hooks/agent', { message: 'hi', ...still, ...body })))
    return answers.map(({ status, body }) => (status === 200 ? body.sessionKey : status))
  }

  it('is new for each request by default', async () => {
    const [first, second] = await sessions({}, [{}, {}])
    expect(first).toMatch(/^agent:main:hook:[0-9a-f-]{36}$/)
    expect(second).toMatch(/^agent:main:hook:[0-9a-f-]{36}$/)
    expect(first).not.toBe(second)
  })

  it('is hooks.defaultSessionKey of the running agent, whatever the allowed prefixes are', async () => {
    const hooks = { defaultSessionKey: 'Ingress', allowedSessionKeyPrefixes: ['hook:'] }
    expect(await sessions(hooks, [{}, { agentId: 'ops' }])).toEqual(['agent:main:ingress', 'agent:ops:ingress'])
  })

  it('may have a default that includes the agent', async () => {
    expect(await sessions({ defaultSessionKey: 'agent:main:ingress' }, [{}])).toEqual(['agent:main:ingress'])
  })

  it('cannot be chosen by a request unless that is allowed', async () => {
    expect(await sessions({}, [{ sessionKey: 'hook:mine' }])).toEqual([400])
    expect(await sessions({ allowedSessionKeyPrefixes: ['hook:'] }, [{ sessionKey: 'hook:mine' }])).toEqual([400])
    expect(await sessions({ defaultSessionKey: 'hook:mine' }, [{ sessionKey: 'hook:mine' }])).toEqual([400])
    expect(await sessions({ allowRequestSessionKey: true }, [{ sessionKey: ' Hook:Mine ' }])).toEqual([
      'agent:main:hook:mine',
    ])
  })

  it('must begin with one of the allowed prefixes, in any case', async () => {
    const hooks = { allowRequestSessionKey: true, allowedSessionKeyPrefixes: ['HOOK:', 'ci-'] }
    const keys = ['hook:a', 'Hook:b', 'CI-7', 'main', 'xhook:a', 'agent:main:hook:c', 'agent:main:main']
    expect(
      await sessions(
        hooks,
        keys.map((sessionKey) => ({ sessionKey })),
      ),
    ).toEqual(['agent:main:hook:a', 'agent:main:hook:b', 'agent:main:ci-7', 400, 400, 'agent:main:hook:c', 400])
  })

  it('cannot be chosen if the list of prefixes is empty', async () => {
    const hooks = { allowRequestSessionKey: true, allowedSessionKeyPrefixes: [] }
    expect(await sessions(hooks, [{ sessionKey: 'hook:a' }, {}])).toEqual([
      400,
      expect.stringMatching(/^agent:main:hook:/),
    ])
  })

  it('is never that of another agent', async () => {
    const bodies = [
      { sessionKey: 'agent:ops:hook:a' },
      { sessionKey: 'AGENT:OPS:hook:a' },
      { sessionKey: 'agent:ops:hook:a', agentId: 'ops' },
      { sessionKey: 'agent:main:a', agentId: 'ops' },
      { sessionKey: 'agent:main:a', agentId: 'ghost' },
      { sessionKey: 'agent:main:' },
      { sessionKey: 'agent:' },
    ]
    expect(await sessions({ allowRequestSessionKey: true }, bodies)).toEqual([
      400,
      400,
      'agent:ops:hook:a',
      400,
      'agent:main:a',
      400,
      400,
    ])
  })

  it('continues with the same key and is separate from other keys', async () => {
    const model = await startModel()
    model.script({ text: 'Noted.' }, { text: 'It was blue.' }, { text: 'I do not know.' })
    const { post } = await startGateway({
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
      hooks: { allowRequestSessionKey: true },
    })
    const say = (message: string, sessionKey: string) =>
      post('/hooks/agent', { message, sessionKey, ...still }, { prefer: 'wait=20' })
    await say('The door is blue.', 'hook:a')
    await say('What colour?', 'hook:A')
    await say('What colour?', 'hook:b')
    const [, again, other] = model.requests.map((request) => messagesOf(request).map(({ role }) => role))
    expect(again).toEqual(['system', 'user', 'assistant', 'user'])
    expect(JSON.stringify(model.requests[1]!.body)).toContain('The door is blue.')
    expect(other).toEqual(['system', 'user'])
  })
})

describe('the main session', () => {
  const defaults = { model: 'double/m', heartbeat: { every: 0 } }
  const shared = share(async () => {
    const model = await startModel()
    return { model, ...(await startGateway({ providers: model.providers })) }
  })

  /** What the agent reads about its session in a heartbeat under this configuration. */
  const statusOf = async ({ agents = {}, ...changes }: { agents?: Document } & Document) => {
    const { model, ...running } = shared()
    await reconfigure(running, { providers: model.providers, agents: { defaults, ...agents }, ...changes })
    model.script({ tool: 'session_status', args: {} }, { text: 'Done.' })
    const before = model.requests.length
    await running.post('/hooks/wake', { text: 'News.' })
    return messagesOf(await model.request(before + 1)).find(({ role }) => role === 'tool')!.content
  }

  it('belongs to the default agent: the one with default: true, the first, or "main"', async () => {
    expect(await statusOf({})).toContain('agent:main:main')
    expect(await statusOf({ agents: { first: {}, second: {} } })).toContain('agent:first:main')
    expect(await statusOf({ agents: { first: {}, second: { default: true } } })).toContain('agent:second:main')
  })

  it('has the key session.mainKey, or "global" in global scope', async () => {
    expect(await statusOf({ session: { mainKey: 'Home' } })).toContain('agent:main:home')
    expect(await statusOf({ session: { scope: 'global' } })).toContain('"global"')
  })
})
