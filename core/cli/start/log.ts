// The log: one JSON line per entry on standard error, or readable text in a terminal; one child logger per component.
import { type DestinationStream, type Logger, pino } from 'pino'
import type { Redactor } from '../../config/redaction.ts'
import type { LogConfig } from '../../config/schema/schema.ts'

export interface ProcessLog {
  logFor(component: string): Logger
  setLevel(level: LogConfig['level']): void
}

/** @param redactor removes secrets from every line. */
export async function createLog(config: LogConfig, redactor: Redactor): Promise<ProcessLog> {
  const pretty = config.pretty ?? process.stderr.isTTY
  const hooks = { streamWrite: (line: string) => redactor.json(line.trimEnd()) + '\n' }
  const root = pino(
    { level: config.level, base: null, timestamp: pino.stdTimeFunctions.isoTime, hooks },
    await openStream(pretty),
  )
  // Kept, because each child has its own level, which setLevel must change.
  const children = new Map<string, Logger>()

  function logFor(component: string): Logger {
    const child = children.get(component) ?? root.child({ component })
    children.set(component, child)
    return child
  }

  function setLevel(level: LogConfig['level']): void {
    for (const logger of [root, ...children.values()]) logger.level = level
  }

  return { logFor, setLevel }
}

async function openStream(pretty: boolean): Promise<DestinationStream> {
  if (!pretty) {
    const stream = pino.destination({ dest: 2, sync: true })
    // A log that cannot be written (full disk, closed pipe) must not end the gateway.
    stream.on('error', () => undefined)
    return stream
  }
  const { default: prettyStream } = await import('pino-pretty')
  return prettyStream({
    destination: 2,
    sync: true,
    translateTime: 'HH:MM:ss',
    singleLine: true,
    messageFormat: '[{component}] {msg}',
    ignore: 'component',
  })
}
