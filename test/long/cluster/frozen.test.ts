// A gateway that freezes while it receives what it has claimed: the others go on accepting, and soon claim again.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, inject, it, onTestFinished } from 'vitest'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { startModel } from '../../doubles/model.ts'
import { createDatabase, query } from '../../postgres.ts'

/** As docs/deploy.md says. */
const maxSeconds = 8

it('blocks the claims of the others for a few seconds at most, and no webhook', async () => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const model = await startModel()
  model.otherwise({ text: 'Done.' })
  const start = async (maxConcurrent: number) => {
    const config = writeConfig(temporaryFolder(), {
      storage: { url: database.url },
      providers: model.providers,
      agents: { defaults: { model: 'double/m', maxConcurrent } },
    })
    const gateway = await spawnGateway(config)
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    return gateway
  }
  const healthy = await start(1)
  const frozen = await start(60)
  const post = async (path: string, body: object): Promise<number> =>
    (
      await fetch(`${healthy.url}/hooks/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${hookToken}` },
        body: JSON.stringify(body),
      })
    ).status
  const message = 'x'.repeat(240_000)
  let [longest, refused] = [0, 0]
  for (let round = 1; round <= 6; round++) {
    const runs = Array.from({ length: 60 }, () =>
      post('agent', { message, deliver: false, wakeMode: 'next-heartbeat' }),
    )
    // It claims while the runs arrive, and freezes while it does.
    await expect.poll(() => heldSeconds(database.url), { interval: 1, timeout: 10_000 }).toBeGreaterThan(0)
    frozen.process.kill('SIGSTOP')
    await Promise.all(runs)
    for (const stopAt = performance.now() + 10_000; performance.now() < stopAt; await delay(50)) {
      longest = Math.max(longest, await heldSeconds(database.url))
      if ((await post('wake', { text: 'Hello', mode: 'next-heartbeat' })) !== 200) refused++
    }
    frozen.process.kill('SIGCONT')
    await delay(1_000)
  }
  console.info(`the lock of claims was held for ${longest.toFixed(1)} s at most; ${refused} webhooks were refused`)
  expect(longest).toBeLessThan(maxSeconds)
  expect(refused).toBe(0)
}, 180_000)

/** For how long the transaction lasts that holds the lock of claims. */
async function heldSeconds(url: string): Promise<number> {
  const [row] = await query(
    url,
    `SELECT coalesce(extract(epoch FROM max(clock_timestamp() - xact_start)), 0)::float AS seconds
     FROM pg_locks JOIN pg_stat_activity USING (pid)
     WHERE locktype = 'advisory' AND objid = 2 AND objsubid = 2 AND mode = 'ExclusiveLock' AND granted`,
  )
  return Number(row?.['seconds'])
}
