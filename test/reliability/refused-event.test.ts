// An event that the service of a model refuses, such as one that breaks its rules, keeps nobody waiting.
import { expect, it } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { startGateway } from '../helpers.ts'

it('a session goes on although a model refuses one of its events, which is tried alone until it is accepted', async () => {
  const model = await startModel()
  let isRefused = true
  const promptOf = (request: Parameters<typeof messagesOf>[0]) => messagesOf(request).at(-1)?.content ?? ''
  model.otherwise((request) =>
    isRefused && promptOf(request).includes('forbidden') ? { status: 400 } : { text: 'HEARTBEAT_OK' },
  )
  const { post, get } = await startGateway({
    providers: model.providers,
    agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    hooks: { allowRequestSessionKey: true },
  })
  const waiting = async () => (await get('/api/sessions/agent%3Amain%3Amain')).body.waitingEvents
  const say = async (message: string) => {
    const body = { message, sessionKey: 'main', deliver: false, wakeMode: 'next-heartbeat' }
    return (await post('/hooks/agent', body, { prefer: 'wait=20' })).body.status
  }
  await post('/hooks/wake', { text: 'Something forbidden.', mode: 'next-heartbeat' })
  await post('/hooks/wake', { text: 'Something good.', mode: 'next-heartbeat' })
  // The first turn cannot know which event it was.
  expect(await say('one')).toBe('failed')
  expect(await say('two')).toBe('succeeded')
  await post('/hooks/wake', { text: 'Another one.' })
  await expect.poll(() => model.requests.some((request) => promptOf(request).includes('Another one.'))).toBe(true)
  await expect.poll(() => model.requests.some((request) => promptOf(request).includes('Something good.'))).toBe(true)
  isRefused = false
  await post('/hooks/wake', { text: 'And another one.' })
  await expect.poll(waiting).toBe(0)
  const last = model.requests.map(promptOf).findLast((prompt) => prompt.includes('forbidden'))
  expect(last).not.toContain('Something good.')
})
