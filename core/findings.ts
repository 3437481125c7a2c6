// Finds warnings in a valid configuration. `check` prints them; the start and every reload log them.
import { join } from 'node:path'
import { resolveAccounts } from './config/accounts.ts'
import type { ConfigProblem } from './config/config-error.ts'
import type { ResolvedConfig } from './config/resolve.ts'
import type { Finding } from './config/file/secrets.ts'
import { declareLoginTools } from './delivery/connections/login-tools.ts'
import { findNeededJobs } from './hooks/jobs/needed-jobs.ts'
import type { FoundPackages } from './loader/packages.ts'
import type { Extensions } from './loader/registry.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { findUndeclaredNames } from './tools/unmatched-names.ts'

interface WarningDeps {
  extensions: Extensions
  /** The sandbox to load transforms in. Absent: a temporary one is created. */
  sandbox?: Sandbox
}

/** Returns the warnings in the order of the file. */
export async function findWarnings(
  resolved: ResolvedConfig,
  { extensions, sandbox }: WarningDeps,
): Promise<ConfigProblem[]> {
  const findings = [
    ...findUndeclaredNames(resolved.config, declareLoginTools(extensions)),
    ...findPackageProblems(resolved, extensions),
    ...(await findBrokenTransforms(resolved, sandbox)),
  ]
  return [...resolved.warnings, ...resolved.place(findings)].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

/** Configured channels and presets whose packages are missing, or have a version that was not tested. */
function findPackageProblems({ config }: ResolvedConfig, { channels, presets, findPackages }: Extensions): Finding[] {
  const ofChannels = Object.entries(config.channels).flatMap(([name, section]) => {
    const channel = channels.get(name)
    if (!channel || !section.enabled) return []
    const found = resolveAccounts(section, channel.config).map(({ settings }) => findPackages(channel, settings))
    return describePackages(found, ['channels', name])
  })
  const ofPresets = findNeededJobs({ presets, hooks: config.hooks }).flatMap(({ preset, settings }) =>
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
  // The index is that in the file: a valid configuration has no gaps.
  const mappings = hooks.mappings.map(({ transform }, index) => ({ transform, index }))
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
