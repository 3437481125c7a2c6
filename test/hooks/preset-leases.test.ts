// The job of a preset with several gateways on one store: one runs it, and only that one may write its state.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import { startGateway, temporaryFolder } from '../helpers.ts'
import { createDatabase, query } from '../postgres.ts'
import { type Feed, startFeed } from './feed.ts'

/** A preset whose job goes on when it should have ended, as after a pause of its process. */
const stubbornPreset = `
import { definePreset, Type } from 'svc-gateway/plugin'
export default definePreset({
  name: 'feed',
  description: 'A feed.',
  payload: Type.Object({}),
  mapping: {},
  config: Type.Object({ url: Type.String() }),
  async start({ url }, { state }) {
    const ask = async (path) => await (await fetch(url + path)).json()
    const run = async () => {
      while (true) {
        const { id } = await ask('/next')
        const outcome = await state.set('last', id).then(() => 'saved', ({ message }) => 'refused/' + message)
        await ask('/' + outcome)
      }
    }
    run().catch(() => undefined)
    return { close: async () => undefined }
  },
})
`

it('a job that has lost its lease cannot write its state any more', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const [one, other] = [await start(database.url), await start(database.url)]
  const states = () => Promise.all([one, other].map(async ({ get }) => (await get('/api/extensions')).body.jobs[0]))
  const wait = { timeout: 15_000, interval: 20 }
  await expect.poll(states, wait).toMatchObject([{ state: 'connected' }, { state: 'standby' }])
  one.feed.send({ id: 'a' })
  await untilAsked(one.feed, '/saved')
  // As if another gateway had taken the lease over.
  await query(database.url, `UPDATE lease SET owner = 'another', until = 9e15 WHERE name = 'preset feed'`)
  const reason = 'Another gateway on the same store runs it.'
  await expect.poll(states, wait).toMatchObject([{ state: 'standby', reason }, {}])
  one.feed.send({ id: 'b' })
  await untilAsked(one.feed, '/refused/Another%20gateway%20on%20the%20same%20store%20may%20run%20this%20job%20now.')
  expect(await query(database.url, `SELECT value FROM state WHERE owner = 'preset:feed'`)).toEqual([{ value: '"a"' }])
  expect(other.feed.asked).toEqual([])
})

async function start(url: string) {
  const [feed, dir] = [await startFeed(), temporaryFolder()]
  writeFileSync(join(dir, 'feed.ts'), stubbornPreset)
  const hooks = { presets: ['feed'], feed: { url: feed.url } }
  const running = await startGateway({ storage: { url }, plugins: ['./feed.ts'], hooks }, dir)
  await expect.poll(async () => (await running.get('/api/extensions')).body.jobs[0].state).not.toBe('connecting')
  return { feed, get: running.get }
}

const untilAsked = async (feed: Feed, path: string) => await expect.poll(() => feed.asked).toContain(path)
