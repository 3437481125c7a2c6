// An event that the service of a model refuses, such as one that breaks its rules, keeps nobody waiting.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished, vi } from 'vitest'
import { messagesOf, startModel } from '../doubles/model.ts'
import { startGateway, temporaryFolder } from '../helpers.ts'

/** A gateway whose model refuses prompts with the word "forbidden", until `accepts` is called. */
async function start(every: string) {
  const [model, dir] = [await startModel(), temporaryFolder()]
  let isRefused = true
  const prompts = () => model.requests.map((request) => messagesOf(request).at(-1)?.content ?? '')
  model.otherwise((request) =>
    isRefused && messagesOf(request).at(-1)?.content.includes('forbidden') ? { status: 400 } : { text: 'HEARTBEAT_OK' },
  )
  const workspace = join(dir, 'state', 'workspaces', 'main')
  mkdirSync(workspace, { recursive: true })
  const gateway = await startGateway(
    {
      providers: model.providers,
      agents: { defaults: { model: 'double/m', heartbeat: { every } } },
      hooks: { allowRequestSessionKey: true },
    },
    dir,
  )
  return { ...gateway, workspace, prompts, accepts: () => void (isRefused = false) }
}

it('a session goes on although a model refuses one of its events, which is tried alone until it is accepted', async () => {
  const { post, get, prompts, accepts } = await start('0')
  const waiting = async () => (await get('/api/sessions/agent%3Amain%3Amain')).body.waitingEvents
  const say = async (message: string) => {
    const body = { message, sessionKey: 'main', deliver: false, wakeMode: 'next-heartbeat' }
    return (await post('/hooks/agent', body, { prefer: 'wait=20' })).body.status
  }
  const shown = async (text: string) =>
    await expect.poll(() => prompts().some((prompt) => prompt.includes(text))).toBe(true)
  await post('/hooks/wake', { text: 'Something forbidden.', mode: 'next-heartbeat' })
  await post('/hooks/wake', { text: 'Something good.', mode: 'next-heartbeat' })
  // The first turn cannot know which event it was.
  expect(await say('one')).toBe('failed')
  expect(await say('two')).toBe('succeeded')
  vi.useFakeTimers({ toFake: ['Date'] })
  onTestFinished(() => void vi.useRealTimers())
  // Both are due again: heartbeats try them one by one.
  vi.setSystemTime(Date.now() + 2 * 60_000)
  accepts()
  await post('/hooks/wake', { text: 'Another one.' })
  await shown('Another one.')
  await shown('Something good.')
  await expect.poll(waiting).toBe(0)
  const last = prompts().findLast((prompt) => prompt.includes('forbidden'))
  expect(last).not.toMatch(/Something good|Another one/)
})

it('an event that is refused does not keep an agent from its notes', async () => {
  const { post, workspace, prompts } = await start('1s')
  await post('/hooks/wake', { text: 'Something forbidden.' })
  const refused = () => prompts().filter((prompt) => prompt.includes('forbidden')).length
  await expect.poll(refused).toBe(1)
  writeFileSync(join(workspace, 'HEARTBEAT.md'), 'Water the plants.')
  const noted = () => prompts().filter((prompt) => prompt.includes('Water the plants.')).length
  await expect.poll(noted).toBeGreaterThan(2)
  expect(refused()).toBe(1)
})
