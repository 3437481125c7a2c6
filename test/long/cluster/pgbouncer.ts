// PgBouncer in front of a PostgreSQL server, on loopback. It needs the program: on Debian, `apt install pgbouncer`.
import { type ChildProcess, spawn } from 'node:child_process'
import { chownSync, mkdirSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo, connect } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { temporaryFolder } from '../../helpers.ts'
import { serverUser } from '../../postgres.ts'

export interface PgBouncer {
  /** The URL of the database through it. */
  url: string
  start(): Promise<void>
  kill(): Promise<void>
}

export async function startPgBouncer(databaseUrl: string, mode: 'session' | 'transaction'): Promise<PgBouncer> {
  const { hostname, port, username, password, pathname } = new URL(databaseUrl)
  const dir = join(temporaryFolder(), 'pgbouncer')
  mkdirSync(dir)
  const own = await findFreePort()
  const settings = [
    '[databases]',
    `* = host=${hostname} port=${port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${own}`,
    'unix_socket_dir =',
    `pool_mode = ${mode}`,
    'auth_type = plain',
    `auth_file = ${join(dir, 'users')}`,
  ]
  writeFileSync(join(dir, 'users'), `"${username}" "${password}"\n`)
  writeFileSync(join(dir, 'pgbouncer.ini'), `${settings.join('\n')}\n`)
  if (serverUser.uid !== undefined)
    for (const path of [join(dir, '..'), dir, join(dir, 'users'), join(dir, 'pgbouncer.ini')])
      chownSync(path, serverUser.uid, serverUser.gid)
  let child: ChildProcess | undefined
  const start = async (): Promise<void> => {
    child = spawn('pgbouncer', [join(dir, 'pgbouncer.ini')], { ...serverUser, stdio: 'ignore' })
    await once(child, 'spawn')
    while (!(await accepts(own))) await delay(50)
  }
  await start()
  return {
    url: `postgres://${username}:${password}@127.0.0.1:${own}${pathname}`,
    start,
    kill: async () => {
      if (!child || child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGKILL')
      await ended
    },
  }
}

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  return port
}

async function accepts(port: number): Promise<boolean> {
  const socket = connect(port, '127.0.0.1')
  try {
    await once(socket, 'connect')
    return true
  } catch {
    return false
  } finally {
    socket.destroy()
  }
}
