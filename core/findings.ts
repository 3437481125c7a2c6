// Finds warnings in a configuration. `check` prints them; the start and every reload log them.
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { findUnpricedModels } from './agents/model-references.ts'
import { listBudgets } from './config/budgets.ts'
import { resolveAccounts } from './config/accounts.ts'
import { ConfigError, type ConfigProblem } from './config/config-error.ts'
import type { ConfigDocument } from './config/file/read.ts'
import { examineConfig, type ResolvedConfig } from './config/resolve.ts'
import type { Finding } from './config/file/secrets.ts'
import { declareLoginTools } from './delivery/connections/login-tools.ts'
import { findNeededJobs } from './hooks/jobs/needed-jobs.ts'
import type { FoundPackages } from './loader/packages.ts'
import type { Extensions } from './loader/registry.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { areTracesOn, tracePackages } from './telemetry/tracer.ts'
import { findToolClashes, findUndeclaredNames } from './tools/unmatched-names.ts'

interface WarningDeps {
  extensions: Extensions
  /** The environment of the gateway. Absent: it is not known. */
  env?: NodeJS.ProcessEnv
  /** The sandbox to load transforms in. Absent: a temporary one is created. */
  sandbox?: Sandbox
  /** True: invalid values were removed, so extensions may lack settings that they rely on. */
  isIncomplete?: boolean
}

/** Checks a document. @throws {ConfigError} with all problems, and with the warnings about what is valid. */
export async function resolveWithWarnings(document: ConfigDocument, extensions: Extensions): Promise<ResolvedConfig> {
  const { problems, resolved } = examineConfig(document, extensions)
  if (problems.length === 0) return resolved
  throw new ConfigError(document.file, problems, await findWarnings(resolved, { extensions, isIncomplete: true }))
}

/**
 * Checks a document for a gateway that runs. New plugins are loaded at the next start, so the sections of their
 * extensions are unknown keys until then.
 */
export async function resolveForRunning(
  document: ConfigDocument,
  { extensions, plugins }: { extensions: Extensions; plugins: readonly string[] },
): Promise<ResolvedConfig> {
  const isSame = isDeepStrictEqual(document.plugins, plugins)
  const problem = 'has changed, which needs a restart; until then the extensions of new plugins are not known'
  const notice = { path: 'plugins', ...document.layout.placeOf(['plugins']), problem }
  try {
    const resolved = await resolveWithWarnings(document, extensions)
    return isSame ? resolved : { ...resolved, warnings: [...resolved.warnings, notice] }
  } catch (error) {
    if (!(error instanceof ConfigError) || isSame) throw error
    throw new ConfigError(error.file, [notice, ...error.problems], error.warnings)
  }
}

/** Returns the warnings in the order of the file. */
export async function findWarnings(
  resolved: ResolvedConfig,
  { extensions, env = {}, sandbox, isIncomplete = false }: WarningDeps,
): Promise<ConfigProblem[]> {
  const finders = [
    () => findToolClashes(resolved.config, extensions),
    () => findUndeclaredNames(resolved.config, declareLoginTools(extensions)),
    ...createPackageFinders(resolved, extensions),
    () => findUnpricedBudgets(resolved, extensions),
    () => (areTracesOn(env) ? describePackages([extensions.findPackages(tracePackages, {})], ['telemetry']) : []),
    () => findBrokenTransforms(resolved, sandbox),
  ]
  const found = finders.map(async (find): Promise<readonly Finding[]> => {
    try {
      return await find()
    } catch (error) {
      if (!isIncomplete) throw error
      return []
    }
  })
  const findings = (await Promise.all(found)).flat()
  return [...resolved.warnings, ...resolved.place(findings)].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

/** Budgets of money that calls of models without a known price would not count against. */
async function findUnpricedBudgets(
  { config, dir }: ResolvedConfig,
  { providers }: Pick<Extensions, 'providers'>,
): Promise<Finding[]> {
  const budgets = listBudgets(config).filter(({ limit }) => limit.usd !== undefined)
  if (budgets.length === 0) return []
  const unpriced = await findUnpricedModels({ config, dir }, providers)
  return budgets.flatMap(({ keys, subject }) => {
    const models = unpriced.filter(
      ({ agentId }) => subject.kind !== 'agent' || agentId === undefined || agentId === subject.name,
    )
    const names = [...new Set(models.map(({ model }) => model))]
    if (names.length === 0) return []
    const problem =
      `does not count the calls of ${names.join(', ')}, because no price is known; set its price in ` +
      'agents.defaults.models, or limit tokens as well'
    return [{ keys: [...keys, 'usd'], code: 'price_unknown' as const, problem }]
  })
}

/** One for each channel and preset in use: its packages may be missing, or have a version that was not tested. */
function createPackageFinders(
  { config }: ResolvedConfig,
  { channels, presets, findPackages }: Extensions,
): (() => Finding[])[] {
  const ofChannels = Object.entries(config.channels).map(([name, section]) => () => {
    const channel = channels.get(name)
    if (!channel || !section.enabled) return []
    const found = resolveAccounts(section, channel.config).map(({ settings }) => findPackages(channel, settings))
    return describePackages(found, ['channels', name])
  })
  const ofPresets = findNeededJobs({ presets, hooks: config.hooks }).map(
    ({ preset, settings }) =>
      () =>
        describePackages([findPackages(preset, settings)], ['hooks', preset.name]),
  )
  return [...ofChannels, ...ofPresets]
}

/** Most accounts of a channel need the same packages. */
function describePackages(found: readonly FoundPackages[], keys: string[]): Finding[] {
  const missing = new Set(found.flatMap((one) => one.missing ?? []))
  const untested = new Set(found.flatMap((one) => one.untested ?? []))
  return [
    ...Array.from(missing, (problem): Finding => ({ keys, code: 'package_missing', problem })),
    ...Array.from(untested, (problem): Finding => ({ keys, problem })),
  ]
}

/** Compiles and loads each transform as for a request, without calling it. */
async function findBrokenTransforms(
  { config: { hooks }, dir }: ResolvedConfig,
  existing: Sandbox | undefined,
): Promise<Finding[]> {
  // An invalid mapping leaves a gap, so that the index is that in the file.
  const mappings = hooks.mappings.flatMap(({ transform }, index) => [{ transform, index }])
  if (!hooks.enabled || !mappings.some(({ transform }) => transform)) return []
  const sandbox = existing ?? (await openSandbox(join(dir, 'transforms'), hooks.transformsDir))
  try {
    const findings = mappings.map(async ({ transform, index }): Promise<Finding[]> => {
      const problem = transform && (await findProblem(sandbox, transform))
      if (problem === undefined) return []
      const keys = ['hooks', 'mappings', String(index), 'transform', 'module']
      return [
        {
          keys,
          code: 'transform_broken',
          problem: `cannot be used, so requests get 500 until it is fixed: ${problem}`,
        },
      ]
    })
    return (await Promise.all(findings)).flat()
  } finally {
    if (!existing) await sandbox.close()
  }
}

/** Imports the sandbox only when there is a transform, because its compiler is slow to load. */
async function openSandbox(root: string, dir: string): Promise<Sandbox> {
  const { createSandbox } = await import('./sandbox/sandbox.ts')
  return createSandbox({ root, dir, log: { debug() {}, info() {}, warn() {}, error() {} } })
}

async function findProblem(
  sandbox: Sandbox,
  { module, export: name }: { module: string; export?: string },
): Promise<string | undefined> {
  const handle = sandbox.load(module, name === undefined ? {} : { export: name })
  try {
    await handle.ready
    return handle.state().problem
  } finally {
    handle.close()
  }
}
