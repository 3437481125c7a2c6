// Connections to the PostgreSQL database, and transactions on them. A lost connection is replaced when it is needed.
import type { Client, ClientConfig, Pool, PoolClient } from 'pg'
import { GatewayError } from '../../errors.ts'
import { settleAll } from '../settle-all.ts'
import { createTransaction, createTranslation, type PostgresTransaction, type Translate } from './transaction.ts'

/** The kinds of transactions. Each kind has connections of its own, so that none waits behind another kind. */
export type Lane = 'accepts' | 'work' | 'reads'

export interface Database {
  /** Runs `work` in one transaction. Resolves when its changes are on disk. */
  transact<Result>(lane: Lane, work: Work<Result>): Promise<Result>
  query<Row>(sql: string): Promise<Row[]>
  /** Opens a connection of the caller's own. */
  connect(): Promise<Client>
  close(): Promise<void>
}

export interface Work<Result> {
  /** The statements that begin the transaction. They have no placeholders, and need one message. */
  begin: string
  work(tx: PostgresTransaction): Promise<Result>
}

/**
 * With the connection for messages, a gateway uses five connections. One for each kind of writes keeps them in the
 * order of their calls.
 */
const connections: Record<Lane, number> = { accepts: 1, work: 1, reads: 2 }

const connectMs = 5_000
/**
 * The server ends the transaction of a gateway that has not sent its next statement for this long, because it is
 * stopped or unreachable. Until then, others may wait for its locks.
 */
const idleInTransactionMs = 3_000
const lockMs = 10_000
const statementMs = 15_000
/** For a server that does not answer at all. */
const answerMs = 20_000

/** PostgreSQL's number for the type BIGINT. */
const int8 = 20

type Pg = typeof import('pg')

export async function createDatabase(url: string): Promise<Database> {
  const pg = await importDriver()
  const config = toConfig(pg, url)
  const translate = createTranslation()
  const pools = {
    accepts: createPool(pg, config, connections.accepts),
    work: createPool(pg, config, connections.work),
    reads: createPool(pg, config, connections.reads),
  }
  return {
    transact: async (lane, work) => {
      const client = await pools[lane].connect()
      return await transactOn(client, translate, work)
    },
    query: async <Row>(sql: string) => (await pools.reads.query(sql)).rows as Row[],
    connect: () => connectClient(pg, { ...config, lock_timeout: 0, pipeline: true }),
    close: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.end()))
    },
  }
}

/** Opens a single connection, on which statements may take long. */
export async function openConnection(url: string, { connectMs: limitMs = connectMs } = {}): Promise<Client> {
  const pg = await importDriver()
  return await connectClient(pg, { ...toConfig(pg, url), connectionTimeoutMillis: limitMs })
}

async function connectClient(pg: Pg, config: ClientConfig): Promise<Client> {
  const client = new pg.Client({ ...config, pipeline: true, statement_timeout: 0, query_timeout: 0 })
  // Without a listener, an error of an idle connection would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
  } catch (error) {
    // The driver leaves the socket open when the login fails on its side, which would keep the process alive.
    void client.end()
    throw error
  }
  return client
}

async function importDriver(): Promise<Pg> {
  try {
    return (await import('pg')).default as unknown as Pg
  } catch (cause) {
    const sentence = 'storage.url needs the package "pg", which is not installed; run "npm install pg".'
    throw new GatewayError('store_unavailable', sentence, { cause })
  }
}

function toConfig(pg: Pg, url: string): ClientConfig {
  return {
    connectionString: withLibpqModes(url),
    application_name: 'svc-gateway',
    connectionTimeoutMillis: connectMs,
    idle_in_transaction_session_timeout: idleInTransactionMs,
    lock_timeout: lockMs,
    statement_timeout: statementMs,
    query_timeout: answerMs,
    keepAlive: true,
    types: {
      // Counts and sequences are 64-bit integers, and all of ours are exact as numbers.
      getTypeParser: (oid: number, format?: 'text' | 'binary') =>
        oid === int8 ? Number : pg.types.getTypeParser(oid, format),
    },
  }
}

/** `pg` gives some values of `sslmode` a meaning of its own. Its users expect libpq's. */
function withLibpqModes(url: string): string {
  const isNeeded = /[?&]sslmode=/.test(url) && !/[?&]uselibpqcompat=/.test(url)
  return isNeeded ? `${url}&uselibpqcompat=true` : url
}

function createPool(pg: Pg, config: ClientConfig, max: number): Pool {
  const pool = new pg.Pool({ ...config, pipeline: true, max, idleTimeoutMillis: 0 })
  // A connection that is lost while it is idle is replaced by the next transaction.
  pool.on('error', () => undefined)
  // The pool does not listen to a connection that it has just handed out, and an error without a listener ends Node.
  pool.on('connect', (client) => void client.on('error', () => undefined))
  return pool
}

/**
 * Awaits `begin` together with the first statements of `work`, which saves a round trip. The connection is free as soon
 * as COMMIT is sent: the statements of the next transaction wait at the server, not here.
 */
async function transactOn<Result>(
  client: PoolClient,
  translate: Translate,
  { begin, work }: Work<Result>,
): Promise<Result> {
  let lost: Error | undefined
  let isReleased = false
  const onError = (error: Error): void => void (lost ??= error)
  // The next user of the connection gets a `release` of its own.
  const release = client.release.bind(client)
  client.on('error', onError)
  const free = (): void => {
    if (isReleased) return
    isReleased = true
    client.off('error', onError)
    release(lost)
  }
  try {
    const tx = createTransaction(client, translate, free)
    const [, result] = (await settleAll([client.query(begin), work(tx)])) as [unknown, Result]
    await tx.commit()
    return result
  } catch (error) {
    if (!isReleased) await client.query('ROLLBACK').catch(onError)
    throw error
  } finally {
    free()
  }
}
