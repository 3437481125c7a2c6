// Three gateways on one PostgreSQL database, which are killed and stopped at random, as is the database, and whose networks
// fail. Their clocks differ by up to 50 seconds.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { type GatewayProcess, hookToken, spawnGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { type PostgresServer, startPostgres } from '../../postgres.ts'
import { chooseSeed } from '../../config/random.ts'
import { createRandom } from '../../store/crash.ts'
import { type DatabaseProxy, startDatabaseProxy } from '../../store/postgres/database-proxy.ts'
import { checkHistory, type History, type Message } from './history.ts'
import { listUnfinished, readReplies, readSucceeded } from './read-history.ts'
import { startTurnRecorder } from './turn-recorder.ts'

const sessions = 100
const messagesPerSession = 10
/** Long enough for the faults to happen meanwhile. */
const pauseMs = 3_000

describe('the check of a history', () => {
  const message = (n: number): Message => ({ session: 's1', n })
  const turn = (n: number, startedAt: number) => ({ ...message(n), startedAt, endedAt: startedAt + 10 })
  const good: History = {
    acknowledged: [message(0), message(1)],
    turns: [turn(0, 0), turn(1, 20)],
    succeeded: [message(0), message(1)],
    replies: [message(1), message(0)],
  }

  it('accepts a history without violations', () => expect(checkHistory(good)).toEqual([]))

  it.each<[violation: string, changes: Partial<History>, found: string[]]>([
    ['a lost message', { succeeded: [message(0)] }, ['s1-1 was acknowledged but did not succeed']],
    ['a repeated run', { succeeded: [message(0), message(0), message(1)] }, ['s1-0 succeeded more than once']],
    [
      'a broken order',
      { succeeded: [message(1), message(0)] },
      ['s1-0 ended before an earlier message of its session'],
    ],
    ['a double turn', { turns: [turn(0, 0), turn(1, 5)] }, ['s1-1 started during another turn of its session']],
    ['a missing reply', { replies: [message(0)] }, ['s1-1 got no reply']],
    ['a repeated reply', { replies: [...good.replies, message(1)] }, ['s1-1 got more than one reply']],
  ])('finds %s', (_violation, changes, found) => expect(checkHistory({ ...good, ...changes })).toEqual(found))
})

describe('three gateways whose processes, networks and database die and hang, and whose clocks differ', () => {
  it('lose nothing that was acknowledged, keep the order of sessions, and send each reply once', async () => {
    const random = createRandom(chooseSeed())
    const model = await startTurnRecorder(() => 200 + random() * 1_300)
    onTestFinished(model.close)
    const server = await startPostgres()
    onTestFinished(server.remove)
    const dir = temporaryFolder()
    const replicas = await Promise.all(
      Array.from({ length: 3 }, (_, index) =>
        startReplica(index, {
          dir,
          url: server.url,
          providers: model.providers,
          clockShiftMs: chooseClockShift(random),
        }),
      ),
    )
    onTestFinished(() => replicas.forEach((replica) => replica.process().kill('SIGKILL')))

    const acknowledged: Message[] = []
    const url = () => replicas[Math.floor(random() * replicas.length)]?.url() ?? ''
    await Promise.all([
      causeFaults(server, replicas, random),
      ...Array.from({ length: sessions }, (_, index) => sendAll(`s${index}`, { acknowledged, url })),
    ])
    await expect.poll(() => listUnfinished(server.url), { timeout: 180_000, interval: 1_000 }).toEqual([])

    expect(acknowledged).toHaveLength(sessions * messagesPerSession)
    const history = {
      acknowledged,
      turns: model.turns,
      succeeded: await readSucceeded(server.url),
      replies: await readReplies(join(dir, 'console.jsonl')),
    }
    expect(checkHistory(history)).toEqual([])
    // Otherwise no fault has interrupted a turn.
    expect(model.turns.length).toBeGreaterThan(acknowledged.length)
  })
})

interface Replica {
  url(): string
  /** Its network to the database. */
  proxy: DatabaseProxy
  process(): GatewayProcess['process']
  /** Kills the process and starts another one. */
  restart(): Promise<void>
}

interface ReplicaOptions {
  dir: string
  url: string
  providers: object
  /** By how much the wall clock of the replica is ahead. */
  clockShiftMs: number
}

/** Up to 25 seconds ahead or behind. */
const chooseClockShift = (random: () => number): number => Math.round((random() - 0.5) * 50_000)

const shiftedClock = pathToFileURL(join(import.meta.dirname, 'shifted-clock.ts')).href

async function startReplica(index: number, { dir, url, providers, clockShiftMs }: ReplicaOptions): Promise<Replica> {
  const own = join(dir, String(index))
  mkdirSync(own)
  const proxy = await startDatabaseProxy(url)
  onTestFinished(proxy.close)
  const config = writeConfig(own, {
    storage: { url: proxy.url },
    log: { level: 'error' },
    providers,
    hooks: { enabled: true, token: hookToken, allowRequestSessionKey: true },
    agents: { defaults: { maxAttempts: 50, maxConcurrent: 48, heartbeat: { every: '0m' } } },
    // All replicas append to the same file, so that each of them can find out what another one has sent.
    channels: { console: { file: join(dir, 'console.jsonl') } },
  })
  const start = () =>
    spawnGateway(config, { nodeOptions: ['--import', shiftedClock], env: { CLOCK_SHIFT_MS: String(clockShiftMs) } })
  let current = await start()
  return {
    url: () => current.url,
    proxy,
    process: () => current.process,
    restart: async () => {
      await current.end('SIGKILL')
      // The database may be down, which ends the start.
      for (;;) {
        try {
          current = await start()
          return
        } catch {
          await delay(200)
        }
      }
    },
  }
}

/** Sends the messages of a session one after another, each until it is acknowledged. */
async function sendAll(
  session: string,
  { acknowledged, url }: { acknowledged: Message[]; url: () => string },
): Promise<void> {
  for (let n = 0; n < messagesPerSession; n++) {
    const message = `<${session}-${n}>`
    while (!(await send(url(), { message, session }))) await delay(100)
    acknowledged.push({ session, n })
    await delay(pauseMs)
  }
}

async function send(url: string, { message, session }: { message: string; session: string }): Promise<boolean> {
  try {
    const response = await fetch(`${url}/hooks/agent`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hookToken}`, 'idempotency-key': message },
      body: JSON.stringify({
        message,
        sessionKey: session,
        model: 'double/m',
        deliver: true,
        channel: 'console',
        to: session,
        wakeMode: 'next-heartbeat',
      }),
      signal: AbortSignal.timeout(7_000),
    })
    await response.arrayBuffer()
    return response.status === 200
  } catch {
    return false
  }
}

type Fault =
  | 'kill gateway'
  | 'stop gateway'
  | 'stop gateway for long'
  | 'kill database'
  | 'reset connections'
  | 'abandon connections'
  | 'freeze network'

const faults: readonly Fault[] = [
  ...Array.from({ length: 8 }, () => 'kill gateway' as const),
  ...Array.from({ length: 2 }, () => 'stop gateway' as const),
  ...Array.from({ length: 2 }, () => 'stop gateway for long' as const),
  ...Array.from({ length: 3 }, () => 'kill database' as const),
  ...Array.from({ length: 4 }, () => 'reset connections' as const),
  ...Array.from({ length: 2 }, () => 'abandon connections' as const),
  ...Array.from({ length: 3 }, () => 'freeze network' as const),
]

/** Longer than a lease of a run: when the gateway continues, others have its runs. */
const longStopMs = 35_000

/** Causes all faults in a random order. */
async function causeFaults(server: PostgresServer, replicas: readonly Replica[], random: () => number): Promise<void> {
  const stopped: Promise<void>[] = []
  for (const fault of faults.toSorted(() => random() - 0.5)) {
    await delay(500 + random() * 1_500)
    const replica = replicas[Math.floor(random() * replicas.length)] as Replica
    if (fault === 'kill gateway') await replica.restart()
    if (fault === 'stop gateway') stopped.push(stopFor(replica.process(), 1_000 + random() * 25_000))
    if (fault === 'stop gateway for long') stopped.push(stopFor(replica.process(), longStopMs + random() * 5_000))
    if (fault === 'reset connections') replica.proxy.reset()
    if (fault === 'abandon connections') replica.proxy.abandon()
    if (fault === 'freeze network') stopped.push(freezeFor(replica.proxy, 1_000 + random() * 25_000))
    if (fault === 'kill database') {
      await server.kill()
      await server.start()
    }
  }
  await Promise.all(stopped)
}

async function freezeFor(proxy: DatabaseProxy, ms: number): Promise<void> {
  proxy.stall()
  await delay(ms)
  proxy.resume()
}

async function stopFor(process: GatewayProcess['process'], ms: number): Promise<void> {
  process.kill('SIGSTOP')
  await delay(ms)
  process.kill('SIGCONT')
}
