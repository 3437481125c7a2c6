// What senders see when operators change the database: poolers, standbys, restores; and when a clock is wrong.
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayProcess, hookToken, spawnGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { copyTables, type PostgresServer, query, restoreTables, startPostgres } from '../../postgres.ts'
import { countLost, isReady, report, type Seen, startLoad } from './load.ts'
import { startPgBouncer } from './pgbouncer.ts'

async function startServer(): Promise<PostgresServer> {
  const server = await startPostgres()
  onTestFinished(server.remove)
  return server
}

async function start(url: string, options: Parameters<typeof spawnGateway>[1] = {}): Promise<GatewayProcess> {
  const hooks = { enabled: true, token: hookToken }
  const gateway = await spawnGateway(
    writeConfig(temporaryFolder(), { storage: { url }, hooks, log: { level: 'warn' } }),
    options,
  )
  onTestFinished(() => void gateway.process.kill('SIGKILL'))
  return gateway
}

const startThree = (url: string) => Promise.all([start(url), start(url), start(url)])

const untilReady = async (gateways: readonly GatewayProcess[]): Promise<void> => {
  for (const gateway of gateways) await expect.poll(() => isReady(gateway), { timeout: 40_000 }).toBe(true)
}

describe('PgBouncer', () => {
  it('is refused in transaction mode', async () => {
    const server = await startServer()
    const pooler = await startPgBouncer(server.url, 'transaction')
    onTestFinished(pooler.kill)
    await expect(start(pooler.url)).rejects.toThrow(/a pooler (that lends|whose) connections/)
    // Others keep its connections busy.
    const busy = setInterval(() => void query(pooler.url, 'SELECT pg_sleep(0.05)').catch(() => undefined), 5)
    onTestFinished(() => clearInterval(busy))
    for (let n = 0; n < 5; n++)
      await expect(start(pooler.url)).rejects.toThrow(/a pooler (that lends|whose) connections/)
  })

  it('works in session mode, and keeps the guards', async () => {
    const server = await startServer()
    const pooler = await startPgBouncer(server.url, 'session')
    onTestFinished(pooler.kill)
    const gateways = await startThree(pooler.url)
    const load = startLoad(gateways)
    await delay(2_000)
    await pooler.kill()
    await delay(2_000)
    await pooler.start()
    await untilReady(gateways)
    const seen = await load.end()
    for (const one of seen) {
      report('PgBouncer away for 2 s', one)
      expect(one.outage).toBeLessThan(8)
    }
    expect(await countLost(server.url, load)).toBe(0)
    // What ends the transaction of a frozen gateway.
    await query(server.url, 'CREATE TABLE noted (value text)')
    await query(
      server.url,
      `CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
         INSERT INTO noted VALUES (current_setting('idle_in_transaction_session_timeout'));
         RETURN NEW; END $$`,
    )
    await query(server.url, 'CREATE TRIGGER note AFTER INSERT ON event FOR EACH ROW EXECUTE FUNCTION note()')
    const next = startLoad(gateways)
    await delay(1_000)
    await next.end()
    expect(await query(server.url, 'SELECT DISTINCT value FROM noted')).toEqual([{ value: '3s' }])
  })
})

describe('a standby that takes over', () => {
  const fail = async (
    isSynchronous: boolean,
  ): Promise<{ seen: Seen[]; lost: number; acknowledged: number; log: string }> => {
    const primary = await startServer()
    const standby = await startPostgres([], { standbyOf: primary })
    onTestFinished(standby.remove)
    if (isSynchronous) {
      await query(primary.url, `ALTER SYSTEM SET synchronous_standby_names = '*'`)
      await query(primary.url, 'SELECT pg_reload_conf()')
    }
    const hosts = [standby, primary].map(({ url }) => new URL(url).host)
    const url = primary.url.replace(new URL(primary.url).host, hosts.join(','))
    const gateways = await startThree(isSynchronous ? url : `${url}?target_session_attrs=primary`)
    const load = startLoad(gateways)
    await delay(3_000)
    // The standby falls behind, as in a slow network. A synchronous one holds up the acknowledgements instead.
    await query(standby.url, `SELECT pg_wal_replay_pause()`)
    if (!isSynchronous)
      await query(
        primary.url,
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE backend_type = 'walsender'`,
      )
    await delay(500)
    await primary.kill()
    await query(standby.url, 'SELECT pg_wal_replay_resume()')
    await query(standby.url, 'SELECT pg_promote()')
    await untilReady(gateways)
    const seen = await load.end()
    const log = gateways.flatMap((gateway) => gateway.log).join('\n')
    return { seen, lost: await countLost(standby.url, load), acknowledged: load.acknowledged.length, log }
  }

  it('has everything if the replication is synchronous', async () => {
    const { seen, lost, acknowledged, log } = await fail(true)
    expect(log).not.toContain('synchronous_standby_names')
    for (const one of seen) report('failover to a synchronous standby', one, `; ${lost} of ${acknowledged} are lost`)
    expect(lost).toBe(0)
    for (const { outage } of seen) expect(outage).toBeLessThan(20)
  })

  it('may lack the last ones otherwise, and the gateways say so', async () => {
    const { seen, lost, acknowledged, log } = await fail(false)
    expect(log).toContain('synchronous_standby_names')
    for (const one of seen) report('failover to an asynchronous standby', one, `; ${lost} of ${acknowledged} are lost`)
    expect(lost).toBeLessThan(acknowledged / 2)
    for (const { outage } of seen) expect(outage).toBeLessThan(20)
  })
})

it('gateways that are left running through a restore end, and write nothing to the restored store', async () => {
  const server = await startServer()
  const gateways = await startThree(server.url)
  const load = startLoad(gateways)
  await delay(1_000)
  await copyTables(server.url)
  const [saved] = await query(server.url, 'SELECT count(*)::int AS n FROM backup.event')
  await delay(2_000)
  await restoreTables(server.url)
  const codes = await Promise.all(
    gateways.map(async ({ process }) => {
      await expect.poll(() => process.exitCode, { timeout: 30_000 }).not.toBeNull()
      return process.exitCode
    }),
  )
  expect(codes).toEqual([1, 1, 1])
  for (const { log } of gateways) expect(log.join('\n')).toContain('were restored, dropped or created anew')
  expect(await query(server.url, 'SELECT count(*)::int AS n FROM event')).toEqual([saved])
  load.abandon()
  const again = await startThree(server.url)
  const next = startLoad(again)
  await delay(2_000)
  for (const { statuses } of await next.end()) expect(statuses).toEqual([200])
})

describe('a gateway whose clock jumps', () => {
  const clock = pathToFileURL(new URL('shifted-clock.ts', import.meta.url).pathname).href
  const dayMs = 24 * 60 * 60 * 1000

  it.each([40, -40])('by %i days refuses everything meanwhile, and takes nothing from the others', async (days) => {
    const server = await startServer()
    const others = await Promise.all([start(server.url), start(server.url)])
    const env = { CLOCK_SHIFT_MS: '0', CLOCK_JUMP_MS: String(days * dayMs) }
    const wrong = await start(server.url, { nodeOptions: ['--import', clock], env })
    const load = startLoad([...others, wrong])
    await delay(2_000)
    wrong.process.kill('SIGWINCH')
    await expect.poll(() => isReady(wrong)).toBe(false)
    await delay(15_000)
    const [row] = await query(server.url, 'SELECT count(*)::int AS n FROM idempotency')
    wrong.process.kill('SIGWINCH')
    await untilReady([wrong])
    const [one, two, jumped] = (await load.end()) as [Seen, Seen, Seen]
    report(`clock off by ${days} days`, jumped)
    expect([one.statuses, two.statuses]).toEqual([[200], [200]])
    expect(jumped.statuses).toEqual([200, 503])
    expect(await countLost(server.url, load)).toBe(0)
    const keys = await query(server.url, 'SELECT count(*)::int AS n FROM idempotency')
    expect(Number(keys[0]?.['n'])).toBeGreaterThanOrEqual(Number(row?.['n']))
    expect(Number(keys[0]?.['n'])).toBe(load.acknowledged.length)
  })
})
