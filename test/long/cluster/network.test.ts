// What senders see while the network between a gateway and its database fails, or the database itself. docs/deploy.md
// names the bounds.
import { setTimeout as delay } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { startPostgres } from '../../postgres.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../store/postgres/database-proxy.ts'
import { countLost, isReady, report, type Seen, startLoad } from './load.ts'

async function startPairBehindProxies() {
  const server = await startPostgres()
  onTestFinished(server.remove)
  const proxies = [await startDatabaseProxy(server.url), await startDatabaseProxy(server.url)] as const
  const gateways = await Promise.all(
    proxies.map(async (proxy) => {
      const hooks = { enabled: true, token: hookToken }
      const gateway = await spawnGateway(
        writeConfig(temporaryFolder(), { storage: { url: proxy.url }, hooks, log: { level: 'error' } }),
      )
      onTestFinished(() => void gateway.process.kill('SIGKILL'))
      onTestFinished(proxy.close)
      return gateway
    }),
  )
  return { server, proxies, gateways }
}

type Cluster = Awaited<ReturnType<typeof startPairBehindProxies>>

/** Causes a fault of the first gateway's network under load. @returns what senders to both gateways have seen */
async function suffer(cause: (proxy: DatabaseProxy, cluster: Cluster) => Promise<void>): Promise<[Seen, Seen]> {
  const cluster = await startPairBehindProxies()
  const load = startLoad(cluster.gateways)
  await delay(1_000)
  await cause(cluster.proxies[0], cluster)
  for (const gateway of cluster.gateways) await expect.poll(() => isReady(gateway), { timeout: 40_000 }).toBe(true)
  const seen = (await load.end()) as [Seen, Seen]
  expect(await countLost(cluster.server.url, load)).toBe(0)
  return seen
}

it('a slow network delays the answers, and nothing is refused', async () => {
  const [one, other] = await suffer(async (proxy) => {
    proxy.delay(200)
    await delay(15_000)
    proxy.delay(0)
  })
  report('delay of 200 ms each way', one)
  expect(one.statuses).toEqual([200])
  expect(other.slowest).toBeLessThan(2)
})

it('reset connections cost a second', async () => {
  const [one, other] = await suffer(async (proxy) => {
    for (let n = 0; n < 20; n++) {
      proxy.reset()
      await delay(300)
    }
  })
  report('20 resets', one)
  expect(one.outage).toBeLessThan(3)
  expect(other.statuses).toEqual([200])
})

it('half-open connections are replaced', async () => {
  const [one, other] = await suffer(async (proxy) => {
    for (let n = 0; n < 3; n++) {
      proxy.abandon()
      await delay(15_000)
    }
  })
  report('half-open connections', one)
  expect(one.outage).toBeLessThan(13)
  expect(one.slowest).toBeLessThan(6)
  expect(other.statuses).toEqual([200])
})

it('a frozen network ends with 503 after five seconds, and the gateway continues when it thaws', async () => {
  let thawedAt = 0
  const [one, other] = await suffer(async (proxy) => {
    proxy.stall()
    await delay(40_000)
    proxy.resume()
    thawedAt = performance.now()
  })
  report('frozen for 40 s', one, `; ready after ${((performance.now() - thawedAt) / 1000).toFixed(1)} s`)
  expect(one.slowest).toBeLessThan(6)
  expect(one.outage).toBeLessThan(40 + 12)
  // It may have locked what the other one writes.
  expect(other.outage).toBeLessThan(8)
})

it('a killed database is used again when it is back', async () => {
  let awaySeconds = 0
  const seen = await suffer(async (_proxy, { server }) => {
    const killedAt = performance.now()
    await server.kill()
    await delay(5_000)
    await server.start()
    awaySeconds = (performance.now() - killedAt) / 1000
  })
  for (const one of seen) {
    report(`database away for ${awaySeconds.toFixed(1)} s`, one)
    expect(one.outage).toBeLessThan(awaySeconds + 3)
    expect(one.slowest).toBeLessThan(6)
  }
})

it.each<NodeJS.Signals>(['SIGKILL', 'SIGSTOP'])('%s to a gateway is not noticed at the other one', async (signal) => {
  const { server, gateways } = await startPairBehindProxies()
  const [one, other] = gateways as [(typeof gateways)[0], (typeof gateways)[0]]
  const load = startLoad([other])
  await delay(1_000)
  one.process.kill(signal)
  await delay(15_000)
  const [seen] = (await load.end()) as [Seen]
  report(`${signal} to the other gateway`, seen)
  expect(seen.statuses).toEqual([200])
  expect(seen.outage).toBeLessThan(5)
  expect(await countLost(server.url, load)).toBe(0)
})
