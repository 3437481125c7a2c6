// Loads the built-in extensions and those of the configured plugins. A faulty extension is refused with one sentence;
// the others start.
import { withDeadline } from '../deadline.ts'
import { firstLineOf } from '../errors.ts'
import type { Channel, Command, Extension, Log, Preset, Provider, Scheme, Toolset } from '../plugin/plugin.ts'
import { silentLog } from './extension-log.ts'
import {
  createImporter,
  describeImportError,
  importBuiltinCommands,
  type ImportedModule,
  type Importer,
  importBuiltins,
} from './import.ts'
import { createPackages, type FoundPackages, type NeedsPackages } from './packages.ts'
import { findFault, isSameCommand } from './verify.ts'

export interface LoadOptions {
  /** The `plugins` of the configuration: packages, or paths relative to `dir`. */
  plugins: readonly string[]
  /** The configuration directory. */
  dir: string
  /** Absent: nothing is logged. */
  log?: Log
  /** How long the import of a plugin may take, in milliseconds; default 10 000. */
  importLimitMs?: number
}

/** All extensions by name. */
export interface Extensions {
  channels: ReadonlyMap<string, Channel>
  toolsets: ReadonlyMap<string, Toolset>
  providers: ReadonlyMap<string, Provider>
  presets: ReadonlyMap<string, Preset>
  schemes: ReadonlyMap<string, Scheme>
  /** Where each extension comes from: `svc-gateway` if it is built in, else the entry of `plugins`. */
  sources: ReadonlyMap<Extension, string>
  /**
   * Finds the npm packages that an account of a channel needs, the job or the setup of a preset, or a part of the
   * gateway.
   */
  findPackages(needed: NeedsPackages, settings: Record<string, unknown>): FoundPackages
  /** One sentence for each refused extension: which one, from where, why, and what to do. */
  problems: readonly string[]
  /** The files of the plugins, without those of installed packages. */
  pluginFiles(): string[]
  /** Call it when the extensions are no longer used, or declare them with `using`. */
  close(): void
  [Symbol.dispose](): void
}

/** Never rejects because of a plugin. */
export async function loadExtensions({
  plugins,
  dir,
  log = silentLog,
  importLimitMs = 10_000,
}: LoadOptions): Promise<Extensions> {
  const importer = plugins.length > 0 ? createImporter(dir) : undefined
  const theirs = importPlugins(importer, plugins, importLimitMs)
  const registry = createRegistry()
  registry.addModule({ source: ownSource, module: await importBuiltinCommands() })
  registry.addModule({ source: ownSource, module: await importBuiltins() })
  for (const module of await theirs) registry.addModule(module)
  log.debug({ plugins: plugins.length, extensions: registry.extensions.sources.size }, 'extensions loaded')
  const packages = createPackages(dir)
  const close = (): void => {
    packages.close()
    importer?.close()
  }
  return {
    ...registry.extensions,
    findPackages: (needed, settings) =>
      packages.find(needed, { settings, file: registry.files.get(needed as Extension) ?? import.meta.filename }),
    pluginFiles: () => importer?.files() ?? [],
    close,
    [Symbol.dispose]: close,
  }
}

/** The commands that are extensions. */
export interface Commands {
  /** Where each comes from: `svc-gateway` if it is built in, else the entry of `plugins`. */
  commands: ReadonlyMap<Command, string>
  /** One sentence for each plugin or command that was refused. */
  problems: readonly string[]
}

/** Loads the built-in commands and those of plugins, and no other extensions. Never rejects because of a plugin. */
export async function loadCommands({
  plugins,
  dir,
  importLimitMs = 5_000,
}: Omit<LoadOptions, 'log'>): Promise<Commands> {
  const registry = createRegistry()
  registry.addModule({ source: ownSource, module: await importBuiltinCommands() })
  // Its importer stays open: the code of a command is imported when it runs.
  const importer = plugins.length > 0 ? createImporter(dir) : undefined
  for (const { source, module, fault } of await importPlugins(importer, plugins, importLimitMs)) {
    const exported = [module?.exported]
      .flat()
      .filter((one) => (one as Partial<Command> | undefined)?.kind === 'command')
    registry.addModule({
      source,
      ...(module && { module: { ...module, exported } }),
      ...(fault !== undefined && { fault }),
    })
  }
  const { sources, problems } = registry.extensions
  return { commands: sources as ReadonlyMap<Command, string>, problems }
}

const importPlugins = async (
  importer: Importer | undefined,
  plugins: readonly string[],
  limitMs: number,
): Promise<LoadedModule[]> =>
  importer ? await Promise.all([...new Set(plugins)].map((one) => load(one, importer.importPlugin(one), limitMs))) : []

/** The built-in extensions alone, for commands that need no configuration. */
export async function loadBuiltins(): Promise<Extensions> {
  const extensions = await loadExtensions({ plugins: [], dir: process.cwd() })
  extensions.close()
  return extensions
}

/** The source of the built-in extensions. */
export const ownSource = 'svc-gateway'

/** Whether a toolset is built in, not a plugin's. */
export function isOwnToolset({ toolsets, sources }: Pick<Extensions, 'toolsets' | 'sources'>, name: string): boolean {
  const toolset = toolsets.get(name)
  return toolset !== undefined && sources.get(toolset) === ownSource
}

interface LoadedModule {
  source: string
  module?: ImportedModule
  fault?: string
}

/** A plugin that throws, or whose import never ends, does not block the start. */
async function load(source: string, importing: Promise<ImportedModule>, limitMs: number): Promise<LoadedModule> {
  const limit = { ms: limitMs, reason: () => new Error(`the import did not end within ${limitMs} ms`) }
  try {
    return { source, module: await withDeadline(limit, () => importing) }
  } catch (error) {
    return {
      source,
      fault: `importing it failed (${describeImportError(error)}); fix it, or remove it from \`plugins\``,
    }
  }
}

interface Origin {
  source: string
  /** The path of the module. */
  file: string
}

type Named = Pick<Extension, 'kind' | 'name'> & { aliases?: readonly string[] }

/** The name of an extension, and the aliases of a channel, which requests may use like names. */
const namesOf = ({ name, aliases = [] }: Named): readonly string[] => [name, ...aliases]

/** Whether two extensions of one kind cannot both be used. */
export const sharesName = (one: Named, other: Named): boolean =>
  one.kind === 'command'
    ? isSameCommand(one.name, other.name)
    : namesOf(one).some((name) => namesOf(other).includes(name))

function createRegistry() {
  const byKind = {
    channel: new Map<string, Channel>(),
    toolset: new Map<string, Toolset>(),
    provider: new Map<string, Provider>(),
    preset: new Map<string, Preset>(),
    scheme: new Map<string, Scheme>(),
    command: new Map<string, Command>(),
  }
  const sources = new Map<Extension, string>()
  const files = new Map<Extension, string>()
  const toolSources = new Map<string, string>()
  const problems: string[] = []

  function register(extension: Extension, { source, file }: Origin): void {
    const extensions = byKind[extension.kind] as Map<string, Extension>
    extensions.set(extension.name, extension)
    sources.set(extension, source)
    files.set(extension, file)
    for (const name of toolNames(extension)) toolSources.set(name, source)
  }

  function duplicateFault(extension: Extension): string | undefined {
    const twin = [...byKind[extension.kind].values()].find((one) => sharesName(one, extension))
    if (twin)
      return `"${sources.get(twin)}" already has one of that name; rename it, or remove one of the two from \`plugins\``
    const tools = toolNames(extension)
    const double = tools.find((name, index) => toolSources.has(name) || tools.indexOf(name) !== index)
    return double && `"${toolSources.get(double) ?? 'itself'}" already has a tool "${double}"; rename it`
  }

  function add(extension: Extension, origin: Origin): void {
    const { source } = origin
    const fault = faultOf(() => findFault(extension, { compile: source !== ownSource }) ?? duplicateFault(extension))
    if (fault === undefined) register(extension, origin)
    else problems.push(`${labelOf(extension)} from "${source}" was refused: ${fault}.`)
  }

  return {
    addModule({ source, module, fault }: LoadedModule): void {
      if (module) for (const one of [module.exported].flat()) add(one as Extension, { source, file: module.file })
      else problems.push(`The plugin "${source}" was refused: ${fault}.`)
    },
    files,
    extensions: {
      channels: byKind.channel,
      toolsets: byKind.toolset,
      providers: byKind.provider,
      presets: byKind.preset,
      schemes: byKind.scheme,
      sources,
      problems,
    },
  }
}

const toolNames = (extension: Extension): string[] =>
  extension.kind === 'toolset' ? (extension.tools ?? []).map(({ name }) => name) : []

/** A declaration that throws while it is read is faulty, too. */
function faultOf(find: () => string | undefined): string | undefined {
  try {
    return find()
  } catch (error) {
    return `reading it failed (${firstLineOf(error)})`
  }
}

/** `The channel "pager"`, as far as the declaration says what it is. */
function labelOf(extension: Partial<Extension> | null | undefined): string {
  try {
    const kind = typeof extension?.kind === 'string' ? extension.kind : 'extension'
    return typeof extension?.name === 'string'
      ? `The ${kind} ${JSON.stringify(extension.name.slice(0, 80))}`
      : `${kind === 'extension' ? 'An' : 'A'} ${kind}`
  } catch {
    return 'An extension'
  }
}
