// Reads the package that a plugin belongs to, and finds out whether this gateway and this Node have the versions that
// the package needs.
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import { fieldsOf } from '../kit/shapes.ts'
import { contractVersion } from '../plugin/version.ts'
import { readVersion } from '../version.ts'

/** The package of a plugin. The texts are those of a file from outside, on one line and of limited length. */
export interface PluginPackage {
  name: string
  version?: string
  /** The ranges of versions that it needs, by what they are versions of. */
  needs: readonly VersionNeed[]
}

interface VersionNeed {
  of: 'svc-gateway' | 'Node.js'
  range: string
}

type Fields = Readonly<Record<string, unknown>>

/** Finds the package of a module: the nearest folder above it whose `package.json` has a name. */
export function findPluginPackage(file: string): PluginPackage | undefined {
  for (let folder = dirname(file); ; folder = dirname(folder)) {
    if (basename(folder) === 'node_modules') return undefined
    const manifest = readManifest(join(folder, 'package.json'))
    const name = textOf(manifest['name'])
    // A plugin inside a checkout of the gateway has no package of its own.
    if (name !== undefined) return name === ownName ? undefined : describePackage(name, manifest)
    if (dirname(folder) === folder) return undefined
  }
}

const ownName = 'svc-gateway'

function describePackage(name: string, manifest: Fields): PluginPackage {
  const version = textOf(manifest['version'])
  const peers = fieldsOf(manifest['peerDependencies'])
  const engines = fieldsOf(manifest['engines'])
  const needs = [
    need('svc-gateway', peers[ownName]),
    need('svc-gateway', engines[ownName]),
    need('Node.js', engines['node']),
  ]
  return { name, ...(version !== undefined && { version }), needs: needs.flat() }
}

/** `workspace:^` and the like are for package managers, which replace them when they pack. */
function need(of: VersionNeed['of'], value: unknown): VersionNeed[] {
  const range = textOf(value)
  return range === undefined || /^[a-z]+:/.test(range) ? [] : [{ of, range }]
}

/** `svc-gateway-plugin-dice 1.0.0` */
export const labelOfPackage = ({ name, version }: Pick<PluginPackage, 'name' | 'version'>): string =>
  version === undefined ? name : `${name} ${version}`

/** `svc-gateway-plugin-dice 1.0.0`, or `./dice.ts (games 1.0.0)` for an entry of `plugins` that is a path. */
export function describeSource(source: string, packages: ReadonlyMap<string, PluginPackage>): string {
  const found = packages.get(source)
  if (!found) return source
  return found.name === source ? labelOfPackage(found) : `${source} (${labelOfPackage(found)})`
}

/** @returns which version is missing and what to do, as the end of a sentence */
export async function findUnmetNeed(plugin: PluginPackage): Promise<string | undefined> {
  if (plugin.needs.length === 0) return undefined
  const { default: semver } = await import('semver')
  for (const { of, range } of plugin.needs) {
    const label = labelOfPackage(plugin)
    if (semver.validRange(range) === null)
      return `${label} needs ${of} "${range}", which is no range of versions; correct its package.json`
    const { running, accepted } = versionsOf(of)
    if (accepted.some((version) => semver.satisfies(version, range, { includePrerelease: true }))) continue
    return `${label} needs ${of} ${range}, this is ${running}; ${fixOf({ of, isNewer: semver.gtr(running, range) }, plugin)}`
  }
  return undefined
}

/** A plugin works with a newer gateway as long as the contract that it was made for has not changed. */
function versionsOf(of: VersionNeed['of']): { running: string; accepted: readonly string[] } {
  const running = of === 'Node.js' ? process.versions.node : readVersion()
  return { running, accepted: of === 'Node.js' ? [running] : [running, contractVersion] }
}

function fixOf({ of, isNewer }: { of: string; isNewer: boolean }, { name }: PluginPackage): string {
  return isNewer ? `install a newer version of ${name}` : `update ${of}, or install an older version of ${name}`
}

/** A manifest that cannot be read would hide what the package needs. */
export function readManifest(file: string): Fields {
  if (!existsSync(file)) return {}
  try {
    return fieldsOf(JSON.parse(readFileSync(file, 'utf8')))
  } catch {
    throw new Error(`${file} is not valid JSON`)
  }
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' && value.trim() !== '' ? escapeInLine(value.trim().slice(0, 214)) : undefined
