// Loads every part, ours and those of the configured plugins; what is broken is refused with one sentence and the rest starts.
import type { Channel, Log, Part, Preset, Provider, Toolset } from '../plugin.ts'
import { discoverParts } from './discover.ts'
import { createImporter, importOwn } from './import.ts'
import { findFault, reasonOf } from './verify.ts'

export interface LoadOptions {
  /** The config's `plugins`: packages, or paths relative to `dir`. */
  plugins: readonly string[]
  /** The configuration directory. */
  dir: string
  log: Log
  /** How long a plugin may take to be imported, in milliseconds; default 10 000. */
  importLimitMs?: number
}

/** All parts by name. */
export interface Parts {
  channels: ReadonlyMap<string, Channel>
  toolsets: ReadonlyMap<string, Toolset>
  providers: ReadonlyMap<string, Provider>
  presets: ReadonlyMap<string, Preset>
  /** Who brought a part: `svc-gateway` for our own, else the entry of `plugins`. */
  sources: ReadonlyMap<Part, string>
  /** One sentence for each part that was refused: which, from where, why, and what to do. */
  problems: readonly string[]
  /** Call it when the parts are used no longer. */
  close(): void
}

/** Never rejects because of a plugin. */
export async function loadParts({ plugins, dir, log, importLimitMs = 10_000 }: LoadOptions): Promise<Parts> {
  const importer = plugins.length > 0 ? createImporter(dir) : undefined
  const own = (await discoverParts()).map((file) => load(ownSource, importOwn(file), importLimitMs))
  const theirs = importer ? [...new Set(plugins)].map((entry) => load(entry, importer.importPlugin(entry), importLimitMs)) : []
  const registry = createRegistry()
  for (const module of await Promise.all([...own, ...theirs])) registry.addModule(module)
  log.debug({ plugins: plugins.length, parts: registry.parts.sources.size }, 'parts loaded')
  return { ...registry.parts, close: () => importer?.close() }
}

/** The source of the parts that come with the gateway. */
export const ownSource = 'svc-gateway'

/** Whether a toolset is one of ours, and not a plugin's. */
export function isOwnToolset({ toolsets, sources }: Pick<Parts, 'toolsets' | 'sources'>, name: string): boolean {
  const toolset = toolsets.get(name)
  return toolset !== undefined && sources.get(toolset) === ownSource
}

interface LoadedModule {
  source: string
  exported?: unknown
  fault?: string
}

/** A plugin that throws, or that never ends its import, does not hold up the start. */
async function load(source: string, importing: Promise<unknown>, limitMs: number): Promise<LoadedModule> {
  const late = Promise.withResolvers<never>()
  const timer = setTimeout(() => late.reject(new Error(`it did not end within ${limitMs} ms`)), limitMs)
  try {
    return { source, exported: await Promise.race([importing, late.promise]) }
  } catch (error) {
    return { source, fault: `importing it failed (${reasonOf(error)}); mend it, or take it out of \`plugins\`` }
  } finally {
    clearTimeout(timer)
  }
}

function createRegistry() {
  const shelves = {
    channel: new Map<string, Channel>(),
    toolset: new Map<string, Toolset>(),
    provider: new Map<string, Provider>(),
    preset: new Map<string, Preset>(),
  }
  const sources = new Map<Part, string>()
  const toolSources = new Map<string, string>()
  const problems: string[] = []

  function put(part: Part, source: string): void {
    const shelf = shelves[part.kind] as Map<string, Part>
    shelf.set(part.name, part)
    sources.set(part, source)
    for (const name of toolNames(part)) toolSources.set(name, source)
  }

  function duplicateFault(part: Part): string | undefined {
    const twin = shelves[part.kind].get(part.name)
    if (twin) return `"${sources.get(twin)}" brings one of that name already; rename it, or take one of the two out of \`plugins\``
    const names = toolNames(part)
    const double = names.find((name, index) => toolSources.has(name) || names.indexOf(name) !== index)
    return double && `"${toolSources.get(double) ?? 'itself'}" brings a tool "${double}" already; rename it`
  }

  function add(part: Part, source: string): void {
    const fault = faultOf(() => findFault(part, { compile: source !== ownSource }) ?? duplicateFault(part))
    if (fault === undefined) put(part, source)
    else problems.push(`${labelOf(part)} from "${source}" was refused: ${fault}.`)
  }

  return {
    addModule({ source, exported, fault }: LoadedModule): void {
      if (fault === undefined) for (const part of [exported].flat()) add(part as Part, source)
      else problems.push(`The plugin "${source}" was refused: ${fault}.`)
    },
    parts: { channels: shelves.channel, toolsets: shelves.toolset, providers: shelves.provider, presets: shelves.preset, sources, problems },
  }
}

const toolNames = (part: Part): string[] => (part.kind === 'toolset' ? (part.tools ?? []).map(({ name }) => name) : [])

/** A declaration that throws while it is read is at fault too. */
function faultOf(find: () => string | undefined): string | undefined {
  try {
    return find()
  } catch (error) {
    return `reading it failed (${reasonOf(error)})`
  }
}

/** `The channel "pager"`, as far as the thing says what it is. */
function labelOf(part: Partial<Part> | null | undefined): string {
  try {
    const kind = typeof part?.kind === 'string' ? part.kind : 'part'
    return typeof part?.name === 'string' ? `The ${kind} ${JSON.stringify(part.name.slice(0, 80))}` : `A ${kind}`
  } catch {
    return 'A part'
  }
}
