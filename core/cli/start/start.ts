// The command `start`: reads the configuration (the first run writes one), runs the gateway and stops it.
import type { Worker } from 'node:worker_threads'
import { nameSections } from '../../config/channels/sections.ts'
import { ConfigError, describeProblem } from '../../config/config-error.ts'
import { allCredentials } from '../../config/credentials.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { type FirstConfig, writeFirstConfig } from '../../config/file/first-run.ts'
import { findLocalServers } from '../../config/local-servers.ts'
import { firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { addMissingCredential } from '../../config/file/missing-credential.ts'
import { createRedactor, logSecrets, type Redactor } from '../../config/redaction.ts'
import type { ResolvedConfig } from '../../config/resolve.ts'
import { createConfigSchema } from '../../config/schema/schema.ts'
import { listSecretFiles } from '../../config/file/secrets.ts'
import { assertTrusted } from '../../config/file/trust.ts'
import { seeFiles, type SeenFiles, watchFiles } from '../../config/file/watch.ts'
import { readVersion } from '../../version.ts'
import { describeError } from '../../errors.ts'
import { resolveWithWarnings } from '../../findings.ts'
import { createGateway, type Gateway } from '../../gateway.ts'
import { fieldsOf } from '../../kit/shapes.ts'
import { describeSource } from '../../loader/plugin-package.ts'
import { type Extensions, loadBuiltins, loadExtensions, ownSource } from '../../loader/registry.ts'
import { prepareStore } from '../../store/open.ts'
import { identifyStore } from '../../store/sqlite/store-files.ts'
import { storeFileOf } from '../../store/store-url.ts'
import { describeFirstSteps, describeNewCredential, describePage, describeState } from './first-steps.ts'
import { createProcessLifetime, type ProcessLifetime } from './process-lifetime.ts'
import { removeListening, writeListening } from '../listening.ts'
import { createLog, type ProcessLog } from './log.ts'

export interface StartOptions {
  config?: string | undefined
  port?: number | undefined
  /** Set by `start --watch`, which runs the gateway in this process and ends it by closing the channel to it. */
  isWatched?: boolean
}

export async function start(options: StartOptions): Promise<void> {
  const lifetime = createProcessLifetime()
  if (options.isWatched) {
    process.once('disconnect', lifetime.end)
    // The channel alone does not keep the process alive.
    process.channel?.unref()
  }
  try {
    await run(options, lifetime)
  } catch (error) {
    // A failed start must not leave anything open.
    await lifetime.close()
    if (!lifetime.signal.aborted) throw error
  } finally {
    lifetime.markStarted()
  }
}

async function run(options: StartOptions, lifetime: ProcessLifetime): Promise<void> {
  // What changes during the start takes effect after it. Without a listener, SIGHUP would end the process.
  let hasChanged = false
  let onChange = (_how: keyof Reload): void => void (hasChanged = true)
  process.on('SIGHUP', () => onChange('reload'))
  const found = locateConfig({ option: options.config })
  const file = found ?? firstConfigFile()
  const tokens = found === undefined ? await writeFirstFile(file) : undefined
  const { resolved, seen, log, ...prepared } = await prepare(file, lifetime)
  const { extensions } = prepared
  const watcher = watchFiles({
    seen,
    list: () => listFiles(file, extensions),
    // A client that saves the file has applied it.
    onChange: () => onChange('reloadIfChanged'),
  })
  lifetime.opened.defer(watcher.close)
  const { config, dir } = resolved
  const { port } = options
  const { logFor, setLevel: setLogLevel } = log
  const gateway = await createGateway({
    config,
    dir,
    file,
    port,
    env: process.env,
    ...prepared,
    logFor,
    setLogLevel,
    signal: lifetime.signal,
    onFatal: lifetime.end,
  })
  lifetime.opened.defer(gateway.close)
  lifetime.configure({ log: logFor('cli'), drainSeconds: gateway.drainSeconds })
  gateway.logWarnings(resolved)
  const address = await gateway.listen()
  lifetime.opened.defer(async () => removeListening(file))
  const store = storeFileOf(config.storage.url, dir)
  writeListening(file, {
    bind: config.gateway.bind,
    port: Number(new URL(address).port || 80),
    store: store === undefined ? undefined : identifyStore(store)[0],
  })
  onChange = (how) => void report(gateway[how], { log, signal: lifetime.signal })
  if (hasChanged) onChange('reload')
  logFor('cli').info({ version: readVersion(), config: file, address, ...listPlugins(extensions) }, 'started')
  process.stdout.write(`listening on ${address}\n${describePage(address, gateway)}${describeState(resolved)}`)
  if (tokens) process.stdout.write(describeFirstSteps({ file, address, hooksPath: config.hooks.path, ...tokens }))
}

/** The model servers on this machine are offered in comments. */
async function writeFirstFile(file: string): Promise<FirstConfig> {
  assertTrusted(file)
  const { providers } = await loadBuiltins()
  return writeFirstConfig(file, { localServers: await findLocalServers(providers) })
}

/** The configuration file and its secret files. Throws while the file cannot be parsed. */
function listFiles(file: string, extensions: Extensions): string[] {
  const { named: document } = nameSections(readConfigFile(file), extensions.channels)
  return [file, ...listSecretFiles(document, createConfigSchema(extensions, document.value))]
}

type Reload = Pick<Gateway, 'reload' | 'reloadIfChanged'>

/** Logs the problems if the new configuration is invalid; the old one stays in use. */
async function report(
  reload: Reload[keyof Reload],
  { log, signal }: { log: ProcessLog; signal: AbortSignal },
): Promise<void> {
  try {
    const { restartFor = [] } = (await reload()) ?? {}
    for (const key of restartFor)
      log.logFor('config').warn(`${key} has changed; the change takes effect at the next start`)
  } catch (error) {
    if (signal.aborted) return
    const problems = error instanceof ConfigError ? error.problems.map(describeProblem) : [describeError(error).reason]
    for (const problem of problems) log.logFor('config').error(`the configuration was not taken over: ${problem}`)
    const warnings = error instanceof ConfigError ? error.warnings : []
    for (const warning of warnings) log.logFor('config').warn(describeProblem(warning))
  }
}

/** The plugins with their versions, and the extensions that are not built in. */
const listPlugins = ({ sources, packages }: Extensions) => ({
  plugins: [...new Set(sources.values())].flatMap((source) =>
    source === ownSource ? [] : [describeSource(source, packages)],
  ),
  extensions: [...sources].flatMap(([{ kind, name }, source]) => (source === ownSource ? [] : [`${kind} ${name}`])),
})

interface Prepared {
  resolved: ResolvedConfig
  /** The files of the configuration, as they were when they were read. */
  seen: SeenFiles
  extensions: Extensions
  log: ProcessLog
  redactor: Redactor
  storeThread: Worker | undefined
}

async function prepare(file: string, lifetime: ProcessLifetime): Promise<Prepared> {
  const seenFile = seeFiles([file])
  const document = readConfigFile(file)
  const storeThread = prepareStore(fieldsOf(fieldsOf(document.value)['storage'])['url'])
  // The schema depends on the extensions, so they are loaded before the check, and before there is a configured log.
  const redactor = createRedactor(allCredentials({}, process.env))
  const early = (await createLog({ level: 'warn' }, redactor)).logFor('loader')
  const extensions = await loadExtensions({ plugins: document.plugins, dir: document.dir, log: early })
  lifetime.opened.defer(async () => extensions.close())
  lifetime.signal.throwIfAborted()
  // Logged before the check, because warnings about the sections of refused extensions follow from it.
  for (const problem of [...extensions.problems, ...extensions.warnings]) early.warn(problem)
  const resolved = await resolveWithWarnings(document, extensions)
  const { config } = resolved
  const generated = addMissingCredential(document, config.gateway.auth)
  if (generated) {
    config.gateway.auth[generated.mode] = generated.value
    process.stdout.write(describeNewCredential({ file, ...generated }))
  }
  redactor.hide(logSecrets(resolved, process.env))
  const log = await createLog(config.log, redactor)
  lifetime.configure({ log: log.logFor('cli'), drainSeconds: () => config.gateway.drainSeconds })
  const secretFiles = listSecretFiles(nameSections(document, extensions.channels).named, resolved.schema)
  const seen = new Map([...(generated ? seeFiles([file]) : seenFile), ...seeFiles(secretFiles)])
  return { resolved, seen, extensions, log, redactor, storeThread }
}
