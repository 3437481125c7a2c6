// The command `start`: reads the configuration (the first run writes one), runs the gateway, ends it in good order.
import { homedir } from 'node:os'
import { ConfigError, describeProblem } from '../config/config-error.ts'
import { allCredentials } from '../config/credentials.ts'
import { readConfigFile } from '../config/file/read.ts'
import { writeFirstConfig } from '../config/file/first-run.ts'
import { findLocalServers } from '../config/local-servers.ts'
import { firstConfigFile, locateConfig } from '../config/file/locate.ts'
import { addMissingCredential } from '../config/file/missing-credential.ts'
import { createRedactor, logSecrets, type Redactor } from '../config/redaction.ts'
import { resolveConfig } from '../config/resolve.ts'
import { createConfigSchema } from '../config/schema.ts'
import { listSecretFiles } from '../config/file/secrets.ts'
import { watchFiles } from '../config/file/watch.ts'
import { readVersion } from '../control/version.ts'
import { describeError } from '../errors.ts'
import type { CheckedConfig } from '../findings.ts'
import { createGateway, type Gateway } from '../gateway.ts'
import { loadExtensions, ownSource, type Extensions } from '../loader/registry.ts'
import { describeFirstSteps, describeNewCredential, describeState } from './first-steps.ts'
import { createLife, type Life } from './life.ts'
import { removeListening, writeListening } from './listening.ts'
import { createLog, type ProcessLog } from './log.ts'

interface StartOptions {
  config?: string
  port?: number
}

export async function start(options: StartOptions): Promise<void> {
  const life = createLife()
  try {
    await run(options, life)
  } catch (error) {
    // What could not start must not stay half alive.
    await life.close()
    if (!life.signal.aborted) throw error
  } finally {
    life.started()
  }
}

async function run(options: StartOptions, life: Life): Promise<void> {
  // Without a listener it would end the process. One that comes while the gateway starts counts when it has started.
  let changed = false
  let onChange = (): void => void (changed = true)
  process.on('SIGHUP', () => onChange())
  const surroundings = { option: options.config, env: process.env, cwd: process.cwd(), home: homedir() }
  const found = locateConfig(surroundings)
  const file = found ?? firstConfigFile(surroundings)
  const tokens = found === undefined ? writeFirstConfig(file, { localServers: await findLocalServers() }) : undefined
  const { document, resolved, extensions, log, redactor } = await prepare(file, life)
  const { config, dir } = resolved
  const { port } = options
  const { logFor, setLevel: setLogLevel } = log
  const gateway = await createGateway({
    config,
    dir,
    file,
    port,
    extensions,
    env: process.env,
    redactor,
    logFor,
    setLogLevel,
    signal: life.signal,
  })
  life.opened.defer(gateway.close)
  gateway.logWarnings({ document, resolved })
  const address = await gateway.listen()
  life.opened.defer(async () => removeListening(file))
  writeListening(file, { bind: config.gateway.bind, port: Number(new URL(address).port || 80) })
  onChange = () => void reload(gateway, { log, signal: life.signal })
  const watcher = watchFiles(() => filesOf(file, extensions), onChange)
  life.opened.defer(watcher.close)
  if (changed) onChange()
  logFor('cli').info({ version: readVersion(), config: file, address, extensions: extensionsOf(extensions) }, 'started')
  process.stdout.write(`listening on ${address}\n${describeState(resolved)}`)
  if (tokens) process.stdout.write(describeFirstSteps({ file, address, hooksPath: config.hooks.path, ...tokens }))
}

/** What the configuration is read from: its file, and those of its secrets. Throws while the file is not valid. */
function filesOf(file: string, extensions: Extensions): string[] {
  const document = readConfigFile(file)
  return [file, ...listSecretFiles(document, createConfigSchema(extensions, document.value))]
}

/** What does not fit is told, and everything stays as it is. */
async function reload(gateway: Gateway, { log, signal }: { log: ProcessLog; signal: AbortSignal }): Promise<void> {
  try {
    const { restartFor } = await gateway.reload()
    for (const key of restartFor) log.logFor('config').warn(`${key} has changed, which takes effect at the next start`)
  } catch (error) {
    if (signal.aborted) return
    const problems = error instanceof ConfigError ? error.problems.map(describeProblem) : [describeError(error).reason]
    for (const problem of problems) log.logFor('config').error(`the configuration was not taken over: ${problem}`)
  }
}

/** Those that plugins have brought. */
const extensionsOf = ({ sources }: Extensions): string[] =>
  [...sources].flatMap(([{ kind, name }, source]) => (source === ownSource ? [] : [`${kind} ${name}`]))

interface Prepared extends CheckedConfig {
  extensions: Extensions
  log: ProcessLog
  redactor: Redactor
}

async function prepare(file: string, life: Life): Promise<Prepared> {
  const document = readConfigFile(file)
  // The extensions complete the schema, so they are loaded before it can be checked; until then there is no configured
  // log.
  const redactor = createRedactor(allCredentials({}, process.env))
  const early = (await createLog({ level: 'warn' }, redactor)).logFor('loader')
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: early })
  life.opened.defer(async () => extensions.close())
  life.signal.throwIfAborted()
  // Before the check: without an extension that was refused, its section is an unknown key.
  for (const problem of extensions.problems) early.warn(problem)
  const resolved = resolveConfig(document, extensions)
  const { config } = resolved
  const generated = addMissingCredential(document, config.gateway.auth)
  if (generated) {
    config.gateway.auth[generated.mode] = generated.value
    process.stdout.write(describeNewCredential({ file, ...generated }))
  }
  redactor.hide(logSecrets(resolved, process.env))
  const log = await createLog(config.log, redactor)
  life.configured({ log: log.logFor('cli'), drainSeconds: config.gateway.drainSeconds })
  return { document, resolved, extensions, log, redactor }
}
