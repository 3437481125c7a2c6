// Imports plugins: JavaScript natively, TypeScript through jiti. `svc-gateway/plugin` resolves to the contract of this
// gateway.
import { chmod, mkdir } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import * as contract from '../plugin.ts'

export interface Importer {
  /** Imports an entry of `plugins`, a package or a path. @returns its default export */
  importPlugin(entry: string): Promise<unknown>
  /** Removes the resolver: plugins that import `svc-gateway/plugin` later may not find it. */
  close(): void
}

/** @param dir the configuration directory, where relative paths and packages are looked up first */
export function createImporter(dir: string): Importer {
  const hooks = registerHooks({ resolve: resolveContract })
  let jiti: Promise<Jiti> | undefined
  return {
    async importPlugin(entry) {
      const loader = await (jiti ??= openJiti(dir))
      const file = resolveEntry(loader, entry, dir)
      return isTypeScript(file)
        ? loader.import(file, { default: true })
        : defaultOf(await import(pathToFileURL(file).href))
    },
    close: () => hooks.deregister(),
  }
}

/** Imports a built-in extension. @returns its default export */
export async function importOwn(file: string): Promise<unknown> {
  return defaultOf(await import(pathToFileURL(file).href))
}

const contractUrl = import.meta.resolve('svc-gateway/plugin')

/**
 * A plugin may be in any folder, and may have its own copy of this package for its tests. It gets the contract of the
 * gateway that runs it.
 */
const resolveContract: Parameters<typeof registerHooks>[0]['resolve'] = (specifier, context, next) =>
  specifier === 'svc-gateway/plugin' ? { url: contractUrl, shortCircuit: true } : next(specifier, context)

/** jiti caches compiled code and executes it later, so only the owner may write to its folder. */
async function openJiti(dir: string): Promise<Jiti> {
  const cache = join(dir, 'state', 'jiti')
  await mkdir(cache, { recursive: true, mode: 0o700 })
  await chmod(cache, 0o700)
  const { createJiti } = await import('jiti')
  return createJiti(join(dir, 'gateway.json5'), { fsCache: cache, virtualModules: { 'svc-gateway/plugin': contract } })
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
