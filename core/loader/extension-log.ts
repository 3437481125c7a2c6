// The logger that an extension gets: each line carries the name of the extension. And one that writes nothing.
import type { Log } from '../plugin/plugin.ts'

export function createExtensionLog(log: Log, label: object): Log {
  const write = (level: keyof Log) => (fields: object, message: string) => log[level]({ ...fields, ...label }, message)
  return { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
}

/** For extensions that are loaded or tried by a command, which says itself what is wrong. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
