// Loads the library that speaks WhatsApp's protocol, and keeps what it prints out of the output and the log.
import { getCallSites } from 'node:util'
import type { Log } from 'svc-gateway/plugin'

export type Library = typeof import('baileys')

export async function loadLibrary(): Promise<Library> {
  silenceLibsignal()
  return await import('baileys')
}

const marker = Symbol.for('svc-gateway.whatsapp.silenced')

/**
 * `libsignal`, a dependency of the library, prints whole sessions with their private keys on the console. This drops
 * what is printed by a file of that package. It stays in place: the package remains loaded after a connection ends.
 */
function silenceLibsignal(): void {
  for (const method of ['debug', 'dir', 'error', 'info', 'log', 'trace', 'warn'] as const) {
    const print = console[method] as (...values: unknown[]) => void
    if (marker in print) continue
    const filtered = (...values: unknown[]): void => {
      if (!isCalledByLibsignal()) print.apply(console, values)
    }
    console[method] = Object.assign(filtered, { [marker]: true })
  }
}

/** A few frames, because others may wrap the console too. */
const isCalledByLibsignal = (): boolean =>
  getCallSites(8).some(({ scriptName }) => /[\\/]libsignal[\\/]/.test(scriptName))

/** The library's logger. Its fields hold keys and messages, so only the sentences of warnings and errors are kept. */
export function createLibraryLog(log: Log) {
  const ignore = (): void => undefined
  const write = (fields: unknown, message?: string): void =>
    log.debug({}, `baileys: ${message ?? (typeof fields === 'string' ? fields : 'no message')}`)
  const libraryLog = { level: 'warn', trace: ignore, debug: ignore, info: ignore, warn: write, error: write }
  return { ...libraryLog, child: () => createLibraryLog(log) }
}
