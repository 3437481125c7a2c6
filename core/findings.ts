// What is worth a warning in a configuration that is valid: `check` prints it, the start and every reload log it.
import { join } from 'node:path'
import type { ConfigProblem } from './config/config-error.ts'
import type { ConfigDocument } from './config/file/read.ts'
import { placeInFile, type ResolvedConfig } from './config/resolve.ts'
import type { Finding } from './config/file/secrets.ts'
import type { Extensions } from './loader/registry.ts'
import type { Sandbox } from './sandbox/sandbox.ts'
import { findUndeclaredNames } from './tools/unmatched-names.ts'

export interface CheckedConfig {
  document: ConfigDocument
  resolved: ResolvedConfig
}

interface Surroundings {
  extensions: Extensions
  /** Where transforms are tried; absent: in a sandbox for this alone. */
  sandbox?: Sandbox
}

/** In the order of the file. */
export async function findWarnings(
  { document, resolved }: CheckedConfig,
  { extensions, sandbox }: Surroundings,
): Promise<ConfigProblem[]> {
  const findings = [
    ...findUndeclaredNames(resolved.config, extensions),
    ...(await findBrokenTransforms(resolved, sandbox)),
  ]
  return [...resolved.warnings, ...placeInFile(findings, document)].toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

/** Each is compiled and loaded, as for a request, and called with nothing. */
async function findBrokenTransforms(
  { config: { hooks }, dir }: ResolvedConfig,
  given: Sandbox | undefined,
): Promise<Finding[]> {
  // Entries are complete here: a configuration that is valid has no holes.
  const mappings = hooks.mappings.map(({ transform }, index) => ({ transform, index }))
  if (!hooks.enabled || !mappings.some(({ transform }) => transform)) return []
  const sandbox = given ?? (await openSandbox(join(dir, 'transforms'), hooks.transformsDir))
  try {
    const found = mappings.map(async ({ transform, index }): Promise<Finding[]> => {
      const problem = transform && (await problemOf(sandbox, transform))
      if (problem === undefined) return []
      const keys = ['hooks', 'mappings', String(index), 'transform', 'module']
      return [{ keys, problem: `cannot be used, so requests are answered 500 until it is mended: ${problem}` }]
    })
    return (await Promise.all(found)).flat()
  } finally {
    if (!given) await sandbox.close()
  }
}

/** The library that compiles is loaded only where there is something to compile. */
async function openSandbox(root: string, dir: string): Promise<Sandbox> {
  const { createSandbox } = await import('./sandbox/sandbox.ts')
  return createSandbox({ root, dir, log: { debug() {}, info() {}, warn() {}, error() {} } })
}

async function problemOf(
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
