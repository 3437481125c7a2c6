// Tests a start with a million waiting events and a hundred thousand sessions.
import { expect, it } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { startModel } from '../doubles/model.ts'
import { temporaryFolder } from '../helpers.ts'
import { get, post, start } from '../reliability/process.ts'

const [events, sessions, atOnce] = [1_000_000, 100_000, 1000]

it('starts with a million stored events', async () => {
  const [dir, model] = [temporaryFolder(), await startModel()]
  model.otherwise({ text: 'HEARTBEAT_OK' })
  await fill(dir)
  const begun = performance.now()
  const gateway = await start(dir, {
    providers: model.providers,
    agents: { defaults: { heartbeat: { model: 'double/m' } } },
  })
  const listening = performance.now() - begun
  expect((await get(gateway.url, '/readyz')).status).toBe(200)
  expect((await post(gateway.url, ['wake', { text: 'one more', mode: 'next-heartbeat' }])).status).toBe(200)
  const answered = performance.now() - begun
  process.stdout.write(`listening after ${listening.toFixed()} ms, first responses after ${answered.toFixed()} ms\n`)
  const [first, second] = [await model.prompt(0), await model.prompt(1)]
  expect([numbersIn(first), numbersIn(second)]).toEqual([range(0, 100), range(100, 100)])
})

const range = (from: number, count: number): number[] => Array.from({ length: count }, (_, index) => from + index)
const numbersIn = (prompt: string): number[] =>
  Array.from(prompt.matchAll(/<event (\d+)>/g), ([, number]) => Number(number))

async function fill(dir: string): Promise<void> {
  const store = await openStore({
    url: 'sqlite:state/gateway.db',
    dir,
    log: { debug() {}, info() {}, warn() {}, error() {} },
  })
  const event = (n: number) =>
    ({
      id: `e${n}`,
      sessionKey: 'agent:main:main',
      text: `<event ${n}>`,
      mode: 'now',
      source: 'webhook wake',
      trusted: false,
    }) as const
  for (let n = 0; n < events; n += atOnce) await store.accept({ at: Date.now(), events: range(n, atOnce).map(event) })
  const route = { channel: 'console', accountId: 'default', to: 'someone', threadId: null, route: null }
  for (let n = 0; n < sessions; n += atOnce) {
    await Promise.all(
      range(n, atOnce).map((id) =>
        store.accept({ at: Date.now(), route: { sessionKey: `agent:main:s${id}`, agentId: 'main', ...route } }),
      ),
    )
  }
  await store.close()
}
