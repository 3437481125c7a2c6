// People and groups that platforms name by several ids, or by another id than before.
import { describe, expect, it } from 'vitest'
import { type Chat, startChat } from '../../doubles/chat.ts'
import { startObedientModel } from '../../doubles/obedient.ts'
import { startGateway, temporaryFolder } from '../../helpers.ts'
import { share } from '../../share.ts'

type Said = Parameters<Chat['say']>[0]

const shared = share(async () => {
  const [chat, model, dir] = [await startChat(), await startObedientModel(), temporaryFolder()]
  const access = {
    allowFrom: ['*', '+15550001', '+15550009'],
    directSession: 'sender',
    groups: { '-1': { agentId: 'ops' } },
  }
  const gateway = await startGateway(
    {
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } }, main: { default: true }, ops: {} },
      ...chat.config(dir, { 'chat-native': access }),
    },
    dir,
  )
  const sessionOf = async (message: Said): Promise<string> => {
    expect(await chat.say(message)).toBe('accepted')
    return (await gateway.get('/api/runs?kind=channel&limit=1')).body.items[0].sessionKey
  }
  const sessionFrom = (id: string, ...otherIds: string[]): Promise<string> => sessionOf({ from: { id, otherIds } })
  return { chat, sessionOf, sessionFrom }
})

describe('a person with several ids', () => {
  it('keeps the session when the number appears, and when it goes', async () => {
    const { sessionFrom } = shared()
    const session = await sessionFrom('lid1')
    expect(session).toBe('agent:main:chat-native:stranger:lid1')
    expect(await sessionFrom('+15550002', 'lid1')).toBe(session)
    expect(await sessionFrom('+15550002')).toBe(session)
    expect(await sessionFrom('lid1')).toBe(session)
    expect(await sessionFrom('LID1', '+15550002')).toBe(session)
  })

  it('is listed by an id that the platform no longer shows', async () => {
    const { sessionFrom } = shared()
    const session = await sessionFrom('+15550001', 'lid2')
    expect(session).toBe('agent:main:chat-native:direct:+15550001')
    expect(await sessionFrom('lid2')).toBe(session)
  })

  it('leaves its session to nobody who gets its number', async () => {
    const { sessionFrom } = shared()
    const before = await sessionFrom('lid9', '+15550009')
    expect(await sessionFrom('+15550009', 'lid10')).toBe('agent:main:chat-native:direct:lid10')
    expect(before).toBe('agent:main:chat-native:direct:lid9')
    expect(await sessionFrom('lid9')).toBe('agent:main:chat-native:stranger:lid9')
    expect(await sessionFrom('lid10')).toBe('agent:main:chat-native:direct:lid10')
  })

  it('leaves its session to nobody when the session has the name of the number, or of each of two ids', async () => {
    const { sessionFrom } = shared()
    const strangerOf = (name: string): string => `agent:main:chat-native:stranger:${name}`
    expect(await sessionFrom('+15550011')).toBe(strangerOf('+15550011'))
    expect(await sessionFrom('+15550011', 'lid11')).toBe(strangerOf('+15550011'))
    const next = await sessionFrom('+15550011', 'lid12')
    expect(next).toBe(strangerOf('lid12'))
    expect([await sessionFrom('+15550011'), await sessionFrom('lid12')]).toEqual([next, next])
    expect(await sessionFrom('lid11')).toBe(strangerOf('lid11'))
    // Each of the two ids has named a session of somebody else.
    await sessionFrom('a1', 'a2')
    await sessionFrom('b1', 'b2')
    const both = await sessionFrom('a1', 'b1')
    expect(both).toBe(strangerOf('a1+b1'))
    expect([await sessionFrom('a1'), await sessionFrom('b1', 'a1')]).toEqual([both, both])
    expect([await sessionFrom('a2'), await sessionFrom('b2')]).toEqual([strangerOf('a2'), strangerOf('b2')])
  })

  it('is one person when two ids that came alone turn out to belong together', async () => {
    const { sessionFrom } = shared()
    const first = await sessionFrom('uuid-5')
    expect(await sessionFrom('+15550005')).toBe('agent:main:chat-native:stranger:+15550005')
    expect(await sessionFrom('+15550005', 'uuid-5')).toBe(first)
    expect(await sessionFrom('+15550005')).toBe(first)
  })
})

describe('a group with another id', () => {
  it('keeps its session and its settings', async () => {
    const { chat, sessionOf } = shared()
    const inGroup = (to: string): Said => ({ from: { id: 'ann' }, group: 'group', mentioned: true, to })
    const session = await sessionOf(inGroup('-1'))
    expect(session).toBe('agent:ops:chat-native:group:-1')
    expect(await chat.say(inGroup('-1001'))).toBe('ignored')
    expect(await chat.move('-1', '-1001')).toBe('moved')
    expect(await sessionOf(inGroup('-1001'))).toBe(session)
  })
})
