// Where the gateway of a configuration file listens: `start` writes it down, and the commands that talk to the gateway
// read it.
import { readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writePrivateFile } from '../config/file/write.ts'

/**
 * What the configuration says may differ: `--port` overrides it, 0 picks a free port, and a change waits for the next
 * start.
 */
export interface Listening {
  bind: string
  port: number
}

const fileFor = (configFile: string): string => join(dirname(configFile), 'state', `${basename(configFile)}.listening`)

/** Where this cannot be written, the commands use the configured port. */
export function writeListening(configFile: string, { bind, port }: Listening): void {
  try {
    writePrivateFile(fileFor(configFile), `${JSON.stringify({ pid: process.pid, bind, port })}\n`, { overwrite: true })
  } catch {
    // The folder may be read-only, with the store elsewhere.
  }
}

/** Removes what this process has written; what another one has stays. */
export function removeListening(configFile: string): void {
  if (read(configFile)?.pid === process.pid) rmSync(fileFor(configFile), { force: true })
}

/**
 * Undefined when no gateway runs that wrote it: after a crash the port may belong to another program, which must not
 * get the credential.
 */
export function readListening(configFile: string): Listening | undefined {
  const { pid, ...listening } = read(configFile) ?? {}
  return pid !== undefined && isAlive(pid) ? (listening as Listening) : undefined
}

function read(configFile: string): (Listening & { pid: number }) | undefined {
  try {
    const { pid, bind, port } = JSON.parse(readFileSync(fileFor(configFile), 'utf8')) as Listening & { pid: number }
    return { pid, bind, port }
  } catch {
    return undefined
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
