// The distributed store: a PostgreSQL database that any number of gateways share.
import { randomBytes } from 'node:crypto'
import type { Client } from 'pg'
import { GatewayError } from '../../errors.ts'
import { createOutage } from '../../outage.ts'
import type { Log } from '../../plugin/plugin.ts'
import { type Commits, createFeed } from '../commits/commits.ts'
import { createFailureLog } from '../failure-log.ts'
import { createGroupCommit, defaultLimits, type GroupCommit, type GroupOutcome } from '../group-commit.ts'
import type { StoreCall } from '../operations.ts'
import { readSecret } from '../tables/state.ts'
import { createStoreCalls, type OpeningStore, type Store } from '../store.ts'
import { createDatabase, type Database, type Lane } from './database.ts'
import { createGroups, laneOf } from './groups.ts'
import { assertUsable, findRiskySettings, findWriteObstacle, migrateDatabase, readIdentity } from './migrate.ts'
import { createMessageSeal } from './message-seal.ts'
import { createMessages } from './messages.ts'
import { explainRefusal, lendsConnections } from './failure.ts'
import { createStoreClock } from './store-clock.ts'
import { createTransaction, createTranslation } from './transaction.ts'

interface PostgresOptions {
  url: string
  log: Log
  /** Called after each commit with the number of operations in it. */
  onCommit?: ((operations: number) => void) | undefined
  /** Called once if the store was replaced by another one, for example by a restore. Nothing is written any more. */
  onReplaced?: ((error: GatewayError) => void) | undefined
}

/** Round trips cost more than statements, so groups are larger than those of an embedded store. */
const limits = { ...defaultLimits, groupSize: 64 }
const clockEveryMs = 30_000
const faultEveryMs = 1_000

type CommitGroup = (lane: Lane, calls: readonly StoreCall[]) => Promise<GroupOutcome>

/** Connects to the database and migrates it. `opened` rejects when it cannot be used. */
export function createPostgresStore({ url, log, onCommit, onReplaced }: PostgresOptions): OpeningStore {
  const failures = createFailureLog({ log, probe: () => store.probe(true) })
  const messages = createMessages(log)
  let fault: () => string | undefined = () => undefined
  let now: () => number = Date.now
  const opening = open(url)
  const opened = opening.then(() => undefined, refuseOpening)
  // A start that fails earlier does not await it.
  opened.catch(() => undefined)

  const commits: Commits = createFeed()
  const options = { commits, limits }
  const lanes = {
    accepts: createGroupCommit((calls) => commit('accepts', calls), options),
    work: createGroupCommit((calls) => commit('work', calls), options),
    reads: createGroupCommit((calls) => commit('reads', calls), options),
  }

  async function commit(lane: Lane, calls: readonly StoreCall[]): Promise<GroupOutcome> {
    const { commitGroup } = await opening
    const unavailable = fault()
    if (unavailable !== undefined) return { unavailable }
    const outcome = await commitGroup(lane, calls)
    failures.record(calls, outcome)
    onCommit?.(calls.length)
    return outcome
  }

  async function open(address: string): Promise<{ commitGroup: CommitGroup; close(): Promise<void> }> {
    const database = await createDatabase(address)
    try {
      return await prepare(database)
    } catch (error) {
      await database.close()
      throw error
    }
  }

  async function prepare(database: Database): Promise<{ commitGroup: CommitGroup; close(): Promise<void> }> {
    const { storeId, identity, secret } = await migrateOn(database)
    const settings = await findRiskySettings(database)
    if (settings.length > 0)
      log.warn({ settings }, 'the database may lose what it has committed when its machine fails; correct these')
    const clock = createStoreClock(database, log)
    await clock.start()
    const sentence = clock.findFault()
    if (sentence !== undefined) throw new GatewayError('store_unavailable', sentence)
    let replacement: GatewayError | undefined
    now = clock.now
    fault = () => replacement?.message ?? clock.findFault()
    const noteReplacement = (error: GatewayError): GatewayError => {
      if (!replacement) onReplaced?.(error)
      return (replacement ??= error)
    }
    database.expect(identity, () => noteReplacement(anotherStore))
    // A measurement that fails is repeated. Until then, the clock goes on from the last one.
    const measure = (): void => void clock.measure().catch(() => undefined)
    const outage = createOutage(log, { failed: 'the store is not used', worked: 'the store is used again' })
    const checkClock = (): void => {
      const reason = clock.findFault()
      if (reason === undefined) return void outage.worked()
      outage.failed(new GatewayError('store_unavailable', reason))
      // The machine may have been suspended, which stops the monotonic clock.
      measure()
    }
    const timers = [setInterval(measure, clockEveryMs).unref(), setInterval(checkClock, faultEveryMs).unref()]
    const channel = `svc_gateway_messages_${storeId}`
    messages.open({
      connect: database.connect,
      drop: database.drop,
      channel,
      seal: createMessageSeal({ secret, channel, now: clock.now }),
    })
    const commitGroup = createGroups(database, { storeId, onReplaced: () => noteReplacement(replaced) })
    return {
      commitGroup: (lane, calls) => commitGroup(lane, calls.map(clock.shift)),
      close: async () => {
        for (const timer of timers) clearInterval(timer)
        await messages.close()
        await database.close()
      },
    }
  }

  async function close(): Promise<void> {
    await Promise.all(Object.values(lanes).map((lane) => lane.close()))
    await opening.then((opened) => opened.close()).catch(() => undefined)
    failures.close()
  }

  const laneFor = (call: StoreCall): GroupCommit => lanes[laneOf(call)]
  const calls = createStoreCalls({
    call: (call) => laneFor(call).call(call),
    callWithDeadline: (call, characters) => laneFor(call).callWithDeadline(call, characters),
    cannotWrite: failures.cannotWrite,
  })
  const store: Store = { ...calls, close }
  return {
    store,
    opened,
    commits,
    now: () => now(),
    findFault: () => fault(),
    isShared: true,
    replicas: messages,
  }
}

const replaced = new GatewayError(
  'store_unavailable',
  'The tables of the store were restored, dropped or created anew while the gateway was running; start it again.',
)

const anotherStore = new GatewayError(
  'store_unavailable',
  'storage.url leads to another store than when the gateway started; correct it, or start the gateway again to use that one.',
)

const pidSql = 'SELECT pg_backend_pid() AS pid'

/**
 * A pooler in transaction mode gives each transaction a free connection to the server: the one that another client has
 * just used, or each of its connections in turn. If others keep it busy, it may give the same one several times.
 */
async function assertOwnConnections(database: Database, client: Client): Promise<void> {
  const readPid = async () => (await client.query<{ pid: number }>(pidSql)).rows[0]?.pid
  const own = await readPid()
  // A server names its own process when a client connects; a pooler names none.
  const { processID } = client as Client & { processID: number | null }
  const reads = processID === own ? 1 : pooledReads
  const keepsOwn = async (): Promise<boolean> => {
    for (let read = 0; read < reads; read++) if ((await readPid()) !== own) return false
    return true
  }
  const usesOwn = await database.transact('reads', {
    begin: 'BEGIN',
    work: async (tx) => (await tx.all<{ pid: number }>(pidSql))[0]?.pid !== own && (await keepsOwn()),
  })
  if (!usesOwn || !(await keepsOwn())) throw new Error(lendsConnections)
}

const pooledReads = 20

async function migrateOn(database: Database): Promise<{ storeId: number; identity: string; secret: string }> {
  const client = await database.connect()
  try {
    await assertOwnConnections(database, client)
    let [secret, identity] = ['', '']
    const storeId = await migrateDatabase(
      { client, tx: createTransaction(client, createTranslation()) },
      async (tx, id) => {
        await assertUsable(tx, id)
        const obstacle = await findWriteObstacle(tx)
        if (obstacle !== undefined) throw new Error(obstacle)
        secret = await readSecret(tx, randomBytes(32).toString('base64'))
        identity = await readIdentity(tx)
      },
    )
    return { storeId, identity, secret }
  } finally {
    await client.end()
  }
}

function refuseOpening(error: unknown): never {
  if (error instanceof GatewayError) throw error
  const sentence = `The PostgreSQL database of storage.url cannot be used: ${explainRefusal(error)}.`
  throw new GatewayError('store_unavailable', sentence, { cause: error })
}
