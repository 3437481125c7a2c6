// Imports the modules of plugins: JavaScript natively, TypeScript through jiti, and `svc-gateway/plugin` is always this
// very gateway.
import { chmod, mkdir } from 'node:fs/promises'
import { registerHooks } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'
import * as contract from '../plugin.ts'

export interface Importer {
  /** Imports a package or path of the config's `plugins`. @returns its default export */
  importPlugin(entry: string): Promise<unknown>
  /** Plugins that import `svc-gateway/plugin` after this may not find it. */
  close(): void
}

/** `dir` is the configuration directory: relative paths and packages are looked up there first. */
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

/** Imports one of our own extensions. @returns its default export */
export async function importOwn(file: string): Promise<unknown> {
  return defaultOf(await import(pathToFileURL(file).href))
}

const contractUrl = import.meta.resolve('svc-gateway/plugin')

/**
 * A plugin may lie anywhere, and may even bring a copy of us for its own tests: it gets the contract of the gateway
 * that runs it.
 */
const resolveContract: Parameters<typeof registerHooks>[0]['resolve'] = (specifier, context, next) =>
  specifier === 'svc-gateway/plugin' ? { url: contractUrl, shortCircuit: true } : next(specifier, context)

/** jiti keeps compiled code and runs it later: its folder must belong to nobody else. */
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
  if (url === undefined) throw new Error(`nothing was found; install it, or write the path as it is seen from ${dir}`)
  return fileURLToPath(url)
}

const isTypeScript = (file: string) => /\.[cm]?tsx?$/.test(file)

/** CommonJS that was compiled from a default export arrives wrapped once more. */
function defaultOf(module: { default?: unknown }): unknown {
  const inner = module.default as { __esModule?: boolean; default?: unknown } | undefined
  return inner?.__esModule ? inner.default : inner
}
