// Finds the npm packages that channels and presets need: next to the gateway, next to a plugin, or in the configuration
// directory.
import { readFileSync } from 'node:fs'
import { findPackageJSON, registerHooks } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { firstLineOf } from '../errors.ts'
import type { Channel, Preset } from '../plugin/plugin.ts'

export interface Packages {
  find(extension: NeedsPackages, use: UseOfModule): FoundPackages
  close(): void
}

export type NeedsPackages = Pick<Channel, 'packages'> | Pick<Preset, 'packages'>

interface UseOfModule {
  settings: Record<string, unknown>
  /** The module of the extension. Its imports are found from there, or from the configuration directory. */
  file: string
}

export interface FoundPackages {
  /** What is missing and how to install it, as the end of a sentence about the extension. */
  missing?: string
  /** Which versions differ from those that the extension was tested with, likewise. */
  untested?: string
}

type ResolveHook = NonNullable<Parameters<typeof registerHooks>[0]['resolve']>

/** @param dir the configuration directory */
export function createPackages(dir: string): Packages {
  const folder = pathToFileURL(join(dir, 'gateway.json5')).href
  /** Packages that only the configuration directory has, as with a gateway that is installed globally. */
  const foundInFolder = new Set<string>()
  let hooks: ReturnType<typeof registerHooks> | undefined

  const resolve: ResolveHook = (specifier, context, next) => {
    try {
      return next(specifier, context)
    } catch (error) {
      if (!foundInFolder.has(packageOf(specifier))) throw error
      return next(specifier, { ...context, parentURL: folder })
    }
  }

  function locate(name: string, file: string): string | undefined {
    const besideModule = findManifest(name, pathToFileURL(file).href)
    if (besideModule !== undefined) return besideModule
    const inFolder = findManifest(name, folder)
    if (inFolder === undefined) return undefined
    foundInFolder.add(name)
    hooks ??= registerHooks({ resolve })
    return inFolder
  }

  return {
    find(extension, { settings, file }) {
      const needed = listNeeded(extension, settings)
      if (needed instanceof Error) return { missing: `cannot say which packages it needs (${firstLineOf(needed)})` }
      const found = needed.map(([id, version]) => ({ id, version, manifest: locate(id, file) }))
      const missing = found.filter(({ manifest }) => manifest === undefined)
      return { ...describeMissing(missing), ...describeUntested(found) }
    },
    close: () => hooks?.deregister(),
  }
}

/** The names of the packages with their versions, or the error if the plugin is faulty. */
function listNeeded({ packages }: NeedsPackages, settings: unknown): [string, string][] | Error {
  try {
    const needed = Object.entries(packages?.(settings) ?? {}).filter(([, version]) => version !== undefined)
    if (needed.every((entry): entry is [string, string] => typeof entry[1] === 'string')) return needed
    return new TypeError('packages must return a version for each package')
  } catch (error) {
    return error instanceof Error ? error : new Error(String(error))
  }
}

function findManifest(name: string, from: string): string | undefined {
  try {
    return findPackageJSON(name, from)
  } catch {
    return undefined
  }
}

/** `@scope/name/file.js` → `@scope/name` */
const packageOf = (specifier: string): string =>
  specifier
    .split('/')
    .slice(0, specifier.startsWith('@') ? 2 : 1)
    .join('/')

interface Located {
  id: string
  /** The tested version. */
  version: string
  manifest: string | undefined
}

function describeMissing(missing: readonly Located[]): Pick<FoundPackages, 'missing'> {
  if (missing.length === 0) return {}
  const names = missing.map(({ id }) => id).join(' and ')
  const command = `npm i ${missing.map(({ id, version }) => `${id}@${version}`).join(' ')}`
  const noun = missing.length === 1 ? 'package' : 'packages'
  return { missing: `needs the ${noun} ${names}; run: ${command}` }
}

function describeUntested(found: readonly Located[]): Pick<FoundPackages, 'untested'> {
  const others = found.flatMap(({ id, version, manifest }) => {
    const installed = manifest && versionIn(manifest)
    return installed && installed !== version ? [`${id} ${installed} instead of ${version}`] : []
  })
  if (others.length === 0) return {}
  return { untested: `was not tested with the installed ${others.join(' and ')}` }
}

function versionIn(manifest: string): string | undefined {
  try {
    return (JSON.parse(readFileSync(manifest, 'utf8')) as { version?: string }).version
  } catch {
    return undefined
  }
}
