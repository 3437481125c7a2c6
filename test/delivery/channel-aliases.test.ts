// A channel may be called by its aliases wherever a request or the configuration names it.
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'

async function start() {
  const chat = await startChat()
  const dir = temporaryFolder()
  const { plugins, channels } = chat.config(dir, {
    'chat-native': {
      allowFrom: ['*'],
      defaultTo: 'lobby',
      groups: { ops: { tools: { deny: ['session_status'] } }, '*': {} },
    },
  })
  const gateway = await startGateway(
    {
      agents: { defaults: { heartbeat: { every: 0 } } },
      plugins,
      channels,
      hooks: {
        enabled: true,
        token: hookToken,
        mappings: [{ match: { path: 'm' }, messageTemplate: 'Mapped.', channel: 'talk-native', to: 'room 1' }],
      },
    },
    dir,
  )
  return { chat, ...gateway }
}

const run = { message: 'hi', wakeMode: 'next-heartbeat' }
const authorization = `Bearer ${gatewayToken}`

describe('an alias of a channel', () => {
  it('is accepted in a webhook request, and its recipient is checked and completed', async () => {
    const { chat, post, get } = await start()
    expect((await post('/hooks/agent', { ...run, channel: 'talk-native' })).body.warnings).toBeUndefined()
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'lobby' })
    await chat.say({ to: 'ann' })
    await chat.holds(2)
    await post('/hooks/agent', { ...run, channel: 'talk-native' })
    expect((await chat.holds(3))[2]).toMatchObject({ channel: 'chat-native', to: 'ann' })
    expect((await post('/hooks/agent', { ...run, channel: 'talk-native', to: 'a!b' })).status).toBe(400)
    expect((await post('/hooks/agent', { ...run, channel: 'talk' })).status).toBe(400)
    expect((await get('/api/outbox?channel=talk-native')).body.items).toHaveLength(3)
  })

  it('is accepted in a mapping, without a warning', async () => {
    const { chat, post, logged } = await start()
    await post('/hooks/m', {})
    expect((await chat.holds(1))[0]).toMatchObject({ channel: 'chat-native', to: 'room 1' })
    expect(logged.filter((line) => line.includes('"warn"') && line.includes('talk'))).toEqual([])
  })

  it('is accepted by the message tool', async () => {
    const { chat, post } = await start()
    await chat.say({ to: 'ann' })
    await chat.holds(1)
    const call = { tool: 'message', args: { text: 'Psst.', channel: 'talk-native' } }
    expect((await post('/tools/invoke', call, { authorization })).body.result).toMatchObject({
      channel: 'chat-native',
      to: 'ann',
    })
  })

  it('finds the tool policy of a group', async () => {
    const { post } = await start()
    const status = async (channel: string, group: string) => {
      const call = { tool: 'session_status', args: {}, sessionKey: `agent:main:other:group:${group}` }
      return (await post('/tools/invoke', call, { authorization, 'x-svc-message-channel': channel })).status
    }
    expect(await status('talk-native', 'ops')).toBe(404)
    expect(await status('talk-native', 'rest')).not.toBe(404)
  })
})
