// Imports the built-in extensions, and plugins: JavaScript natively, TypeScript through jiti. `svc-gateway/plugin` and
// `svc-gateway/kit` resolve to those of this gateway.
import { chmod, mkdir, readFile } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import { describeThrown, firstLineOf } from '../errors.ts'
import * as kit from '../kit/kit.ts'
import * as contract from '../plugin/plugin.ts'

export interface ImportedModule {
  /** The path of the module. */
  file: string
  /** Its default export. */
  exported: unknown
}

export interface Importer {
  /** Imports an entry of `plugins`, a package or a path. */
  importPlugin(entry: string): Promise<ImportedModule>
  /** The files that were imported so far, without those of installed packages. */
  files(): string[]
  /** Removes the resolver: plugins that import `svc-gateway/plugin` later may not find it. */
  close(): void
}

/** @param dir the configuration directory, where relative paths and packages are looked up first */
export function createImporter(dir: string): Importer {
  /** jiti knows the files that it compiles; this has the others. */
  const imported = new Set<string>()
  let compiled: NodeJS.Dict<unknown> = {}
  const isPluginCode = (file: string): boolean => imported.has(file) || file in compiled || isJiti(file)
  const hooks = registerHooks({
    resolve(specifier, context, next) {
      const own = ownUrls.get(specifier)
      if (own !== undefined) return { url: own, shortCircuit: true }
      const resolved = next(specifier, context)
      const parent = pathOf(context.parentURL)
      const file = parent !== undefined && isPluginCode(parent) ? pathOf(resolved.url) : undefined
      if (file !== undefined) imported.add(file)
      return resolved
    },
  })
  let jiti: Promise<Jiti> | undefined
  return {
    async importPlugin(entry) {
      const loader = await (jiti ??= openJiti(dir))
      compiled = loader.cache
      const file = resolveEntry(loader, entry, dir)
      imported.add(file)
      if (!isTypeScript(file)) return await importFile(file).catch((error: unknown) => refuse(error, file, loader))
      const module = await loader.import<{ default?: unknown }>(file)
      // Of a module without a default export, jiti returns the module itself.
      return { file, exported: 'default' in module ? module.default : undefined }
    },
    files: () => [...new Set([...imported, ...Object.keys(compiled)])].filter((file) => !isInPackage(file)),
    close: () => hooks.deregister(),
  }
}

const isJiti = (file: string): boolean => /[\\/]node_modules[\\/]jiti[\\/]/.test(file)

const isInPackage = (file: string): boolean => /[\\/]node_modules[\\/]/.test(file)

/** Loads the built-in extensions when the first gateway of the process needs them. */
export async function importBuiltins(): Promise<ImportedModule> {
  return { file: import.meta.filename, exported: (await import('./builtins.ts')).builtins }
}

/** Loads the declarations of the built-in commands. */
export async function importBuiltinCommands(): Promise<ImportedModule> {
  return { file: import.meta.filename, exported: (await import('./builtin-commands.ts')).builtins }
}

async function importFile(file: string): Promise<ImportedModule> {
  return { file, exported: defaultOf(await import(pathToFileURL(file).href)) }
}

/** Node does not say where a module has a syntax error, but jiti does. */
async function refuse(error: unknown, file: string, loader: Jiti): Promise<never> {
  if (!(error instanceof SyntaxError)) throw error
  const compiled = loader.transform({ filename: file, source: await readFile(file, 'utf8') })
  const [, line, column] = /^exports\.__JITI_ERROR__ = .*"line":(\d+),"column":(\d+)/.exec(compiled) ?? []
  throw line === undefined ? error : new SyntaxError(`${error.message}\n${file}:${line}:${column}`)
}

/** Describes a failed import in a few words, with file and line if they are known. */
export function describeImportError(error: unknown): string {
  const { message = '' } = (error ?? {}) as { message?: string }
  const named = /^ *(\S.*:\d+:\d+) *$/m.exec(message) ?? /^Require stack:\n- (.+)$/m.exec(message)
  const place = named?.[1] ?? placeInPlugin(error)
  return place === undefined ? firstLineOf(error) : `${firstLineOf(error)}, at ${place}`
}

const pathOf = (url: string | undefined): string | undefined =>
  url?.startsWith('file:') ? fileURLToPath(url) : undefined

/** Code of this folder, also where a source map names it. */
const isOwn = (path: string): boolean => path.startsWith(import.meta.dirname) || /[\\/]core[\\/]loader[\\/]/.test(path)

/** `at connect (file:///plugins/pager.js:3:7)` → `/plugins/pager.js:3:7` */
function placeInPlugin(error: unknown): string | undefined {
  const place = describeThrown(error).at?.replace(/^.*\(|\)$/g, '')
  const [, url, position = ''] = /^(file:.*?)(:\d+:\d+)$/.exec(place ?? '') ?? []
  const path = url === undefined ? place : fileURLToPath(url) + position
  return path === undefined || isOwn(path) || path.startsWith('node:') ? undefined : path
}

/**
 * A plugin may be in any folder, and may have its own copy of this package for its tests. It gets the contract and the
 * kit of the gateway that runs it.
 */
const ownModules = { 'svc-gateway/plugin': contract, 'svc-gateway/kit': kit }
const ownUrls = new Map(Object.keys(ownModules).map((name) => [name, import.meta.resolve(name)]))

/** jiti caches compiled code and executes it later, so only the owner may write to its folder. */
async function openJiti(dir: string): Promise<Jiti> {
  const cache = join(dir, 'state', 'jiti')
  await mkdir(cache, { recursive: true, mode: 0o700 })
  await chmod(cache, 0o700)
  const { createJiti } = await import('jiti')
  return createJiti(join(dir, 'gateway.json5'), {
    fsCache: cache,
    virtualModules: ownModules,
  })
}

function resolveEntry(jiti: Jiti, entry: string, dir: string): string {
  const url =
    jiti.esmResolve(entry, { parentURL: pathToFileURL(join(dir, 'gateway.json5')).href, try: true }) ??
    jiti.esmResolve(entry, { parentURL: import.meta.url, try: true })
  if (url === undefined) throw new Error(`it was not found; install it, or write the path relative to ${dir}`)
  return fileURLToPath(url)
}

const isTypeScript = (file: string) => /\.[cm]?tsx?$/.test(file)

/** CommonJS that was compiled from a default export is wrapped once more. */
function defaultOf(module: { default?: unknown }): unknown {
  const inner = module.default as { __esModule?: boolean; default?: unknown } | undefined
  return inner?.__esModule ? inner.default : inner
}
