// Retention has no leader: when a gateway dies or freezes within a purge, the other one purges what is left.
import { expect, inject, it, onTestFinished } from 'vitest'
import { newEvent, newRequest } from '../../contracts/store-samples.ts'
import { spawnGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { createDatabase, query } from '../../postgres.ts'
import { silent } from '../../store/acknowledging.ts'
import { openStore } from '../../store/open-store.ts'

const dayMs = 24 * 60 * 60 * 1000
/** How many requests are purged. */
const old = 30_000

it.each<NodeJS.Signals>(['SIGKILL', 'SIGSTOP'])('a purge survives %s of a gateway', async (signal) => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const [one, other] = [await start(database.url), await start(database.url)]
  await leaveOldRequests(database.url)
  const count = async (): Promise<number> => {
    const [row] = await query(database.url, 'SELECT count(*)::int AS n FROM request')
    return Number(row?.['n'])
  }
  expect(await count()).toBe(old + kept)
  for (const gateway of [one, other]) gateway.purge()
  await expect.poll(count, { timeout: 30_000, interval: 10 }).toBeLessThan(old * 0.9)
  one.process.kill(signal)
  const left = await count()
  console.info(signal, `${left - kept} of ${old} old requests were left`)
  expect(left).toBeGreaterThan(kept)
  await expect.poll(count, { timeout: 60_000 }).toBe(kept)
  expect(await query(database.url, 'SELECT count(*)::int AS n FROM event')).toEqual([{ n: 1 }])
})

async function start(url: string) {
  const dir = temporaryFolder()
  const write = (days: number): string => writeConfig(dir, { storage: { url, retention: { days } } })
  const gateway = await spawnGateway(write(0))
  onTestFinished(() => void gateway.process.kill('SIGKILL'))
  return {
    process: gateway.process,
    /** Limits the retention, which until then is unlimited. */
    purge: () => {
      write(1)
      gateway.process.kill('SIGHUP')
    },
  }
}

/** A recent request, and an old one whose event waits. */
const kept = 2

async function leaveOldRequests(url: string): Promise<void> {
  const store = await openStore({ url, dir: '/nowhere', log: silent })
  const at = Date.now() - 2 * dayMs
  for (let n = 0; n < old; n += 1_000)
    await Promise.all(Array.from({ length: 1_000 }, () => store.accept({ at, request: newRequest() })))
  await store.accept({ at, request: newRequest(), events: [newEvent({ inBody: true })] })
  await store.accept({ at: Date.now(), request: newRequest() })
  await store.close()
}
