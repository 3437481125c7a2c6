// The log: one JSON line an event on standard error (readable in a terminal), one child a room, no secret in any line.
import { type DestinationStream, type Logger, pino } from 'pino'
import { withoutSecrets } from '../config/redaction.ts'
import type { LogConfig } from '../config/schema.ts'

interface LogOptions {
  config: LogConfig
  /** Values that must not appear, whatever field or text they end up in. */
  secrets: readonly string[]
}

export async function createLog({ config, secrets }: LogOptions): Promise<Logger> {
  const pretty = config.pretty ?? process.stderr.isTTY
  const scrub = (line: string): string => withoutSecrets(line, secrets)
  return pino({ level: config.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks: { streamWrite: scrub } }, await openStream(pretty))
}

async function openStream(pretty: boolean): Promise<DestinationStream> {
  if (!pretty) return pino.destination({ dest: 2, sync: true })
  const { default: prettyStream } = await import('pino-pretty')
  return prettyStream({ destination: 2, sync: true, translateTime: 'HH:MM:ss', singleLine: true, messageFormat: '[{room}] {msg}', ignore: 'room' })
}
