// svc-gateway start: reads the configuration (the first run writes one), runs the gateway, ends it in good order.
import { homedir } from 'node:os'
import closeWithGrace from 'close-with-grace'
import { Command, InvalidArgumentError } from 'commander'
import type { Logger } from 'pino'
import { describeProblem } from '../config/config-error.ts'
import { readConfigFile } from '../config/file.ts'
import { firstConfigFile, locateConfig } from '../config/locate.ts'
import { secretValues } from '../config/redaction.ts'
import { resolveConfig, type ResolvedConfig } from '../config/resolve.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { loadParts, type Parts } from '../loader/registry.ts'
import { createLog } from './log.ts'

export function register(program: Command): void {
  program
    .command('start', { isDefault: true })
    .description('Run the gateway. The first run writes a configuration.')
    .option('--config <file>', 'configuration file (default: $SVC_GATEWAY_CONFIG, ./gateway.json5, ~/.svc-gateway/gateway.json5)')
    .option('--port <number>', 'port to listen on instead of gateway.port; 0 picks a free one', parsePort)
    .action(start)
}

interface StartOptions {
  config?: string
  port?: number
}

async function start(options: StartOptions): Promise<void> {
  const file = locateConfig({ option: options.config, env: process.env, cwd: process.cwd(), home: homedir() })
  if (file === undefined) throw new Error('first run comes')
  const { resolved, parts, log } = await prepare(file)
  if (options.port !== undefined) resolved.config.gateway.port = options.port
  const gateway = await createGateway({ config: resolved.config, dir: resolved.dir, parts, env: process.env, logFor: (room) => log.child({ room }) })
  endInGoodOrder(gateway, { log, parts, drainSeconds: resolved.config.gateway.drainSeconds })
  const address = await gateway.listen()
  process.stdout.write(`listening on ${address}\n`)
}

interface Prepared {
  resolved: ResolvedConfig
  parts: Parts
  log: Logger
}

async function prepare(file: string): Promise<Prepared> {
  const document = readConfigFile(file)
  // The parts complete the schema, so they are loaded before it can be checked; until then there is no configured log.
  const early = await createLog({ config: { level: 'warn' }, secrets: [] })
  const parts = await loadParts({ plugins: document.plugins, dir: document.dir, log: early })
  const resolved = resolveConfig(document, parts)
  const { config, schema, warnings } = resolved
  const log = await createLog({ config: config.log, secrets: secretValues(config, schema) })
  for (const problem of parts.problems) log.warn({ room: 'loader' }, problem)
  for (const warning of warnings) log.warn({ room: 'config' }, describeProblem(warning))
  return { resolved, parts, log }
}

interface Ending {
  log: Logger
  parts: Parts
  drainSeconds: number
}

/** SIGTERM and SIGINT let running work finish; a second one ends at once. */
function endInGoodOrder(gateway: Gateway, { log, parts, drainSeconds }: Ending): void {
  // What a plugin left unhandled must not end everybody else's work.
  process.on('unhandledRejection', (error) => log.error({ room: 'cli', error: error instanceof Error ? error.name : typeof error }, 'unhandled rejection'))
  closeWithGrace({ delay: (drainSeconds + 5) * 1000, logger: false, skip: ['unhandledRejection', 'SIGHUP'] }, async ({ signal, err }) => {
    if (err) log.fatal({ room: 'cli', error: err.name, stack: err.stack }, 'ending after an error')
    else log.info({ room: 'cli', signal }, 'stopping')
    await gateway.close()
    parts.close()
  })
}

function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535) throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return port
}
