// Connections to the PostgreSQL database, and transactions on them. A lost connection is replaced when it is needed.
import type { Socket } from 'node:net'
import type { Client, ClientBase, ClientConfig, Pool, PoolClient } from 'pg'
import { GatewayError } from '../../errors.ts'
import { settleAll } from '../transaction.ts'
import { isConnectionSpent, isReplaced, onlyReads } from './failure.ts'
import { createHosts, type Hosts, type ServerState } from './hosts.ts'
import { createTransaction, createTranslation, type PostgresTransaction, type Translate } from './transaction.ts'

/** The kinds of transactions. Each kind has connections of its own, so that none waits behind another kind. */
export type Lane = 'accepts' | 'work' | 'reads'

export interface Database {
  /** Runs `work` in one transaction. Resolves when its changes are on disk. */
  transact<Result>(lane: Lane, work: Work<Result>): Promise<Result>
  query<Row>(sql: string): Promise<Row[]>
  /** Opens a connection of the caller's own. */
  connect(): Promise<Client>
  /** From now on, a connection that leads to another store is refused, and `onOther` is called. */
  expect(identity: string, onOther: () => GatewayError): void
  /** Drops all connections but those of `connect`, because the network to the server is dead. */
  drop(reason: Error): void
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
/** The server ends a connection whose client has not taken what was sent for this long. */
const unreadMs = 5_000
const lockMs = 10_000
const statementMs = 15_000
/** For a server that does not answer at all. */
const answerMs = 20_000

/** PostgreSQL's number for the type BIGINT. */
const int8 = 20

type Pg = typeof import('pg')

export async function createDatabase(url: string): Promise<Database> {
  const pg = await importDriver()
  const hosts = createHosts(withLibpqModes(url), pg.Client)
  const config = toConfig(pg)
  const translate = createTranslation()
  const clients = new Set<ClientBase>()
  const server: Server = { hosts, assertExpected: async () => undefined }
  const pools = {
    accepts: createPool(pg, config, { max: connections.accepts, clients, server }),
    work: createPool(pg, config, { max: connections.work, clients, server }),
    reads: createPool(pg, config, { max: connections.reads, clients, server }),
  }

  async function connectIn(lane: Lane): Promise<PoolClient> {
    const host = hosts.current()
    try {
      return await pools[lane].connect()
    } catch (error) {
      hosts.leave(host)
      throw error
    }
  }

  return {
    transact: async (lane, work) => await transactOn(await connectIn(lane), translate, work),
    query: async <Row>(sql: string) => {
      const client = await connectIn('reads')
      try {
        return (await client.query(sql)).rows as Row[]
      } finally {
        client.release()
      }
    },
    connect: () => connectClient(server, config),
    expect: (identity, onOther) => {
      server.assertExpected = async (client) => {
        if (!(await hasIdentity(client, identity))) throw onOther()
      }
    },
    drop: (reason) => clients.forEach((client) => destroy(client, reason)),
    close: async () => {
      await Promise.all(Object.values(pools).map((pool) => pool.end()))
    },
  }
}

/** Opens a single connection, on which statements may take long. */
export async function openConnection(url: string, { connectMs: limitMs = connectMs } = {}): Promise<Client> {
  const pg = await importDriver()
  const hosts = createHosts(withLibpqModes(url), pg.Client)
  const server: Server = { hosts, assertExpected: async () => undefined }
  return await connectClient(server, { ...toConfig(pg), connectionTimeoutMillis: limitMs })
}

/** Tries each host once. */
async function connectClient(server: Server, config: ClientConfig): Promise<Client> {
  const { hosts } = server
  for (let tries = 1; ; tries++) {
    const host = hosts.current()
    try {
      return await connectOnce(server, config)
    } catch (error) {
      hosts.leave(host)
      if (tries >= hosts.count) throw error
    }
  }
}

async function connectOnce(server: Server, config: ClientConfig): Promise<Client> {
  const client = new server.hosts.Client({ ...config, pipeline: true, query_timeout: 0 })
  // Without a listener, an error of an idle connection would end the process.
  client.on('error', () => undefined)
  try {
    await client.connect()
    await prepareConnection(client, server)
    await client.query('SET statement_timeout = 0; SET lock_timeout = 0')
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

function toConfig(pg: Pg): ClientConfig {
  return {
    application_name: 'svc-gateway',
    connectionTimeoutMillis: connectMs,
    query_timeout: answerMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: 10_000,
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

/**
 * What every connection is set to. A pooler refuses settings in the first message of a connection, or ignores them.
 * With `synchronous_commit`, what is acknowledged is on disk whatever the default of the database is.
 */
const settings = [
  'SET tcp_keepalives_idle = 10',
  'SET tcp_keepalives_interval = 5',
  'SET tcp_keepalives_count = 3',
  `SET idle_in_transaction_session_timeout = ${idleInTransactionMs}`,
  `SET tcp_user_timeout = ${unreadMs}`,
  `SET lock_timeout = ${lockMs}`,
  `SET statement_timeout = ${statementMs}`,
  `SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') IN ('off', 'local')`,
].join('; ')

interface Server {
  hosts: Hosts
  /** Throws if a connection leads to another store than the first one. */
  assertExpected(client: ClientBase): Promise<void>
}

interface PoolOptions {
  max: number
  /** The open connections. */
  clients: Set<ClientBase>
  server: Server
}

const preparedSql = `
  SELECT current_setting('idle_in_transaction_session_timeout') AS "idleLimit",
    current_setting('transaction_read_only') = 'on' AS "isReadOnly", pg_is_in_recovery() AS "isStandby",
    current_setting('server_encoding') AS encoding`

interface PreparedRow extends ServerState {
  idleLimit: string
  encoding: string
}

async function prepareConnection(client: ClientBase, { hosts, assertExpected }: Server): Promise<void> {
  await client.query(settings)
  const [row] = (await client.query<PreparedRow>(preparedSql)).rows
  // Without the limit, a gateway that freezes would hold its locks for ever.
  if (row?.idleLimit !== `${idleInTransactionMs / 1000}s`) throw new GatewayError('store_unavailable', settingsLost)
  if (row.encoding !== 'UTF8') throw new GatewayError('store_unavailable', describeEncoding(row.encoding))
  if (!hosts.accepts(row)) throw new Error(onlyReads)
  await assertExpected(client)
}

const describeEncoding = (encoding: string): string =>
  `The database of storage.url has the encoding ${encoding}, which lacks most characters; create another one with ` +
  `ENCODING 'UTF8' TEMPLATE template0, and name it in storage.url.`

/** False, too, if there is no store. */
async function hasIdentity(client: ClientBase, identity: string): Promise<boolean> {
  try {
    const { rows } = await client.query<{ id: string }>('SELECT id FROM identity')
    return rows[0]?.id === identity
  } catch (error) {
    if (isReplaced(error)) return false
    throw error
  }
}

const settingsLost =
  'storage.url leads to a pooler whose connections keep no settings; name the server itself, or a pooler in session mode.'

function createPool(pg: Pg, config: ClientConfig, { max, clients, server }: PoolOptions): Pool {
  const onConnect = async (client: ClientBase): Promise<void> => {
    clients.add(client)
    client.once('end', () => clients.delete(client))
    await prepareConnection(client, server)
  }
  const options = { ...config, pipeline: true, max, idleTimeoutMillis: 0, Client: server.hosts.Client }
  // The pool awaits it, which its types do not say.
  const pool = new pg.Pool(Object.assign(options, { onConnect }))
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
  const onFailure = (error: unknown): void => {
    if (!isConnectionSpent(error)) return
    onError(error as Error)
    // Somebody else may have the connection by now. What they do on it would fail, too.
    if (isReleased) destroy(client, error as Error)
  }
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
    onFailure(error)
    if (!isReleased) await client.query('ROLLBACK').catch(onError)
    throw error
  } finally {
    free()
  }
}

/** Ends a connection at once. The pool then opens another one. */
function destroy(client: ClientBase, reason: Error): void {
  const { connection } = client as ClientBase & { connection: { stream: Socket } }
  connection.stream.destroy(reason)
}
