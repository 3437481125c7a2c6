// Records the address on which the gateway of a configuration file listens, for commands that call it.
import { readFileSync, rmSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { writePrivateFile } from '../config/file/write.ts'

/** May differ from the configuration: `--port` overrides the port, 0 picks a free one, and changes need a restart. */
export interface Listening {
  bind: string
  port: number
  /** The file of an embedded store. */
  store?: string | undefined
}

const fileFor = (configFile: string): string => join(dirname(configFile), 'state', `${basename(configFile)}.listening`)

/** If this fails, commands use the configured port. */
export function writeListening(configFile: string, { bind, port, store }: Listening): void {
  try {
    writePrivateFile(fileFor(configFile), `${JSON.stringify({ pid: process.pid, bind, port, store })}\n`, {
      overwrite: true,
    })
  } catch {
    // The folder may be read-only if the store is elsewhere.
  }
}

/** Removes the record if this process has written it. */
export function removeListening(configFile: string): void {
  if (read(configFile)?.pid === process.pid) rmSync(fileFor(configFile), { force: true })
}

/**
 * Returns undefined if the process that wrote the record has ended: its port may now belong to another program, which
 * must not receive the credential.
 */
export function readListening(configFile: string): Listening | undefined {
  const { pid, ...listening } = read(configFile) ?? {}
  return pid !== undefined && isAlive(pid) ? (listening as Listening) : undefined
}

function read(configFile: string): (Listening & { pid: number }) | undefined {
  try {
    const { pid, bind, port, store } = JSON.parse(readFileSync(fileFor(configFile), 'utf8')) as Listening & {
      pid: number
    }
    return { pid, bind, port, store }
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
