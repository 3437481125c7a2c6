// Loads the built-in extensions and those of the configured plugins. A faulty extension is refused with one sentence;
// the others start.
import { fillDefaults } from '../config/defaults.ts'
import type { RefusedExtension } from '../config/schema/schema.ts'
import { isRecord } from '../config/walk.ts'
import { withDeadline } from '../deadline.ts'
import { firstLineOf } from '../errors.ts'
import type { Channel, Command, Extension, Log, Preset, Provider, Scheme, Toolset } from '../plugin/plugin.ts'
import { fieldsOf, listOf, textOf } from '../kit/shapes.ts'
import { type JsonSchema, listProblems } from '../typebox.ts'
import { silentLog } from './extension-log.ts'
import {
  createImporter,
  describeImportError,
  importBuiltinCommands,
  type ImportedModule,
  type Importer,
  importBuiltins,
  MissingExportError,
} from './import.ts'
import { createImportGuard, type ImportGuard } from './import-guard.ts'
import { type Fault, fault } from './members.ts'
import { createPackages, type FoundPackages, type NeedsPackages } from './packages.ts'
import { findPluginPackage, findUnmetNeed, labelOfPackage, type PluginPackage } from './plugin-package.ts'
import { presetFaults } from './verify-preset.ts'
import { findFaults, isSameCommand } from './verify.ts'

export interface LoadOptions {
  /** The `plugins` of the configuration: packages, or paths relative to `dir`. */
  plugins: readonly string[]
  /** The configuration directory. */
  dir: string
  /** Absent: nothing is logged. */
  log?: Log
  /** How long the import of a plugin may take, in milliseconds; default 10 000. */
  importLimitMs?: number
  /** The folder for compiled code. Default: `state/jiti` in the configuration directory. */
  cacheDir?: string
  /** True: there is no configuration, so a tool with the name of another one is a fault. */
  isAlone?: boolean
}

/** A fault of a plugin. */
export interface PluginFinding {
  /** A warning does not keep the extension from being used. */
  severity: 'error' | 'warning'
  /** The entry of `plugins`. */
  plugin: string
  /** `toolset "dice"`. Absent: the fault concerns the module. */
  extension?: string
  /** The member of the declaration, such as `tools[0].args`. */
  member?: string
  /** A sentence that names all of this, what is wrong, and what to do. */
  sentence: string
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
  /** The packages of the plugins, by their entries of `plugins`. A plugin that is a single file may have none. */
  packages: ReadonlyMap<string, PluginPackage>
  /**
   * Finds the npm packages that an account of a channel needs, the job or the setup of a preset, or a part of the
   * gateway.
   */
  findPackages(needed: NeedsPackages, settings: Record<string, unknown>): FoundPackages
  /** One sentence for each reason why an extension was refused: which one, from where, why, and what to do. */
  problems: readonly string[]
  /** One sentence for each fault of a plugin that is used nevertheless. */
  warnings: readonly string[]
  /** The same faults for programs. */
  findings: readonly PluginFinding[]
  /** What was refused. The configuration may have sections for it. */
  refused: readonly RefusedExtension[]
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
  cacheDir,
  isAlone = false,
}: LoadOptions): Promise<Extensions> {
  const registry = createRegistry({ isAlone })
  registry.addModule({ source: ownSource, module: await importBuiltinCommands() })
  registry.addModule({ source: ownSource, module: await importBuiltins() })
  // After the built-in ones, so that whatever happens meanwhile is the work of a plugin.
  const importer = plugins.length > 0 ? createImporter({ dir, cacheDir }) : undefined
  const theirs = await importPlugins(importer, plugins, importLimitMs)
  theirs.modules.forEach(registry.addModule)
  registry.verifyPresets()
  log.debug({ plugins: plugins.length, extensions: registry.extensions.sources.size }, 'extensions loaded')
  const packages = createPackages(dir)
  const close = (): void => {
    packages.close()
    importer?.close()
    theirs.close()
  }
  return {
    ...registry.extensions,
    ...describeFindings(registry.findings),
    packages: packagesOf(theirs.modules),
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
}: Omit<LoadOptions, 'log' | 'cacheDir' | 'isAlone'>): Promise<Commands> {
  const registry = createRegistry()
  registry.addModule({ source: ownSource, module: await importBuiltinCommands() })
  // Its importer stays open: the code of a command is imported when it runs.
  const importer = plugins.length > 0 ? createImporter({ dir }) : undefined
  const theirs = await importPlugins(importer, plugins, importLimitMs)
  // A command may end the process.
  theirs.close()
  for (const { source, module, fault } of theirs.modules) {
    const exported = [module?.exported]
      .flat()
      .filter((one) => (one as Partial<Command> | undefined)?.kind === 'command')
    registry.addModule({
      source,
      ...(module && { module: { ...module, exported } }),
      ...(fault !== undefined && { fault }),
    })
  }
  const { problems } = describeFindings(registry.findings)
  return { commands: registry.extensions.sources as ReadonlyMap<Command, string>, problems }
}

interface LoadedPlugins {
  modules: readonly LoadedModule[]
  /** Until then, a plugin whose import ends the process later is named. */
  close(): void
}

async function importPlugins(
  importer: Importer | undefined,
  plugins: readonly string[],
  limitMs: number,
): Promise<LoadedPlugins> {
  if (!importer) return { modules: [], close() {} }
  // An import that only waits is given up first.
  const guard = createImportGuard({ limitMs: limitMs + blockedMs, describe: describeImportError })
  const modules: LoadedModule[] = []
  // One after another, so that it is known which plugin does what.
  for (const source of new Set(plugins)) modules.push(await load(source, { importer, guard, limitMs }))
  guard.stopWatching()
  return { modules, close: guard.close }
}

const describeFindings = (
  findings: readonly PluginFinding[],
): Pick<Extensions, 'problems' | 'warnings' | 'findings' | 'refused'> => {
  const sentencesOf = (wanted: PluginFinding['severity']) =>
    findings.flatMap(({ severity, sentence }) => (severity === wanted ? [sentence] : []))
  const refused = findings.flatMap(({ severity, extension }) => (severity === 'error' ? [readName(extension)] : []))
  return { findings, problems: sentencesOf('error'), warnings: sentencesOf('warning'), refused }
}

/** `toolset "dice"` */
function readName(extension: string | undefined): RefusedExtension {
  const [, kind, name] = /^(\w+) (".*")$/.exec(extension ?? '') ?? []
  return kind !== undefined && name !== undefined ? { kind, name: JSON.parse(name) as string } : {}
}

/** How much longer than the limit of an import a plugin may block the process. */
const blockedMs = 1000

const packagesOf = (modules: readonly LoadedModule[]): Map<string, PluginPackage> =>
  new Map(modules.flatMap(({ source, package: found }) => (found ? [[source, found]] : [])))

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
  /** The package that the module belongs to. */
  package?: PluginPackage
  module?: ImportedModule
  /** Why it cannot be used, as the end of a sentence. */
  fault?: string
  /** What its import did besides declaring, as ends of sentences. */
  effects?: readonly string[]
}

interface ImportOptions {
  importer: Importer
  guard: ImportGuard
  limitMs: number
}

/** A plugin that throws, ends the process, or whose import never ends, does not block the start. */
async function load(source: string, { importer, guard, limitMs }: ImportOptions): Promise<LoadedModule> {
  const limit = { ms: limitMs, reason: () => new Error(`the import did not end within ${limitMs} ms`) }
  const loaded: LoadedModule = { source }
  try {
    const file = await importer.locate(source)
    const found = findPluginPackage(file)
    if (found) loaded.package = found
    const unmet = found && (await findUnmetNeed(found))
    if (unmet !== undefined) return { ...loaded, fault: unmet }
    const importModule = () => withDeadline(limit, () => importer.importPlugin(file))
    const { result: module, effects } = await guard.run(source, importModule)
    const isEmpty = Array.isArray(module.exported) && module.exported.length === 0
    return { ...loaded, effects, ...(isEmpty ? { fault: emptyExport } : { module }) }
  } catch (error) {
    return { ...loaded, fault: describeFailure(error, loaded.package) }
  }
}

const emptyExport = 'its default export is an empty list; export what a function such as defineToolset returns'

function describeFailure(error: unknown, found: PluginPackage | undefined): string {
  if (!(error instanceof MissingExportError))
    return `importing it failed (${describeImportError(error)}); fix it, or remove it from \`plugins\``
  const label = found ? labelOfPackage(found) : 'it'
  return `${label} ${error.message}; update svc-gateway, or use a version of the plugin that was made for this one`
}

interface Origin {
  source: string
  /** The path of the module. */
  file: string
}

type Named = Pick<Extension, 'kind' | 'name'> & { aliases?: readonly string[] }

/** The name of an extension, and the aliases of a channel, which requests may use like names. */
const namesOf = ({ name, aliases }: Named): readonly unknown[] => [name, ...listOf(aliases)]

/** Whether two extensions of one kind cannot both be used. */
export const sharesName = (one: Named, other: Named): boolean =>
  one.kind === 'command'
    ? isSameCommand(one.name, other.name)
    : namesOf(one).some((name) => namesOf(other).includes(name))

function createRegistry({ isAlone = false } = {}) {
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
  /** Those of plugins, also with other faults. */
  const presets: { preset: Preset; source: string }[] = []
  const findings: PluginFinding[] = []

  function register(extension: Extension, { source, file }: Origin): void {
    const extensions = byKind[extension.kind] as Map<string, Extension>
    extensions.set(extension.name, extension)
    sources.set(extension, source)
    files.set(extension, file)
    if (isAlone) for (const name of toolNames(extension)) toolSources.set(name, source)
  }

  /** The declaration may have other faults. */
  function* takenNames(extension: Extension): Iterable<Fault> {
    const { kind, name } = fieldsOf(extension)
    if (typeof name !== 'string' || !Object.hasOwn(byKind, String(kind))) return
    const twin = [...byKind[extension.kind].values()].find((one) => sharesName(one, extension))
    if (twin) {
      yield fault(
        'name',
        `"${sources.get(twin)}" already has one of that name; rename it, or remove one of the two from \`plugins\``,
      )
      return
    }
    const tools = toolNames(extension)
    for (const name of new Set(tools.filter((one, index) => tools.indexOf(one) !== index)))
      yield fault('tools', `it has two tools "${name}"; rename one of them`)
    // The operator can rename a tool, so this matters only where no operator is known.
    for (const name of isAlone ? new Set(tools.filter((one) => toolSources.has(one))) : [])
      yield { member: 'tools', problem: describeTaken(name, toolSources.get(name) as string), warning: true }
  }

  function note(extension: Extension, source: string, { member, problem, warning }: Fault): void {
    const verb = warning ? 'has a fault' : 'was refused'
    const end = problem.endsWith('?') ? '' : '.'
    findings.push({
      severity: warning ? 'warning' : 'error',
      plugin: source,
      extension: nameOf(extension),
      ...(member !== '' && { member }),
      sentence: `${labelOf(extension)} from "${source}" ${verb}: ${problem}${end}`,
    })
  }

  /** @returns whether the extension can be used */
  function verify(extension: Extension, source: string, find: () => Iterable<Fault>): boolean {
    const faults = faultsOf(find)
    for (const one of faults) note(extension, source, one)
    return faults.every(({ warning }) => warning)
  }

  function add(extension: Extension, origin: Origin): void {
    const { source } = origin
    // Tests verify the built-in ones, so that the start need not.
    if (source === ownSource) return register(extension, origin)
    const find = () => [...findFaults(extension), ...takenNames(extension)]
    if (verify(extension, source, find)) register(extension, origin)
    if (isPreset(extension)) presets.push({ preset: extension, source })
  }

  return {
    addModule: ({ source, module, fault: problem, effects = [] }: LoadedModule): void => {
      const plugin = { plugin: source }
      if (problem !== undefined)
        findings.push({ severity: 'error', ...plugin, sentence: `The plugin "${source}" was refused: ${problem}.` })
      for (const effect of effects)
        findings.push({ severity: 'warning', ...plugin, sentence: `The import of the plugin "${source}" ${effect}.` })
      if (module) for (const one of [module.exported].flat()) add(one as Extension, { source, file: module.file })
    },
    /** Their schemes may be those of other plugins. */
    verifyPresets(): void {
      for (const { preset, source } of presets) {
        const isSound = verify(preset, source, () => presetFaults(preset, byKind.scheme))
        if (isSound || byKind.preset.get(preset.name) !== preset) continue
        byKind.preset.delete(preset.name)
        sources.delete(preset)
      }
    },
    files,
    findings,
    extensions: {
      channels: byKind.channel,
      toolsets: byKind.toolset,
      providers: byKind.provider,
      presets: byKind.preset,
      schemes: byKind.scheme,
      sources,
    },
  }
}

/** Whether it is enough of a preset to check its mapping and its authentication. */
function isPreset(extension: unknown): extension is Preset {
  const { kind, mapping, auth = {} } = fieldsOf(extension)
  return kind === 'preset' && isRecord(mapping) && isRecord(auth)
}

const describeTaken = (name: string, source: string): string =>
  `"${source}" already has a tool "${name}", so this one is left out unless \`tools.rename\` gives it another name; ` +
  'rename it'

/** The names of its tools, and of those that it opens with its default settings. */
function toolNames(extension: Extension): string[] {
  if (extension.kind !== 'toolset') return []
  const { tools, expected, config = {} } = extension as Toolset
  const settings = fillDefaults(config, {})
  const later = typeof expected === 'function' ? expectedNames(() => expected(settings), fits(config, settings)) : []
  const names = [...listOf(tools), ...listOf(later)].map((tool) => textOf(fieldsOf(tool)['name']) ?? '')
  return names.filter((name) => name !== '' && !name.includes('*'))
}

/** Without its required settings a toolset may not know its tools. */
function expectedNames(list: () => readonly { name: string }[], hasSettings: boolean): readonly { name: string }[] {
  try {
    return list()
  } catch (error) {
    if (hasSettings) throw error
    return []
  }
}

const fits = (schema: JsonSchema, value: unknown): boolean => listProblems(schema, value).length === 0

/** A declaration that throws while it is read is faulty, too. */
function faultsOf(find: () => Iterable<Fault>): Fault[] {
  try {
    return [...find()]
  } catch (error) {
    return [fault('', `reading it failed (${firstLineOf(error)})`)]
  }
}

/** `toolset dice`, as far as the declaration says what it is. */
function nameOf(extension: unknown): string {
  try {
    const { kind, name } = fieldsOf(extension)
    const shown = typeof name === 'string' ? JSON.stringify(name.slice(0, 80)) : undefined
    return [typeof kind === 'string' ? kind : 'extension', shown].filter(Boolean).join(' ')
  } catch {
    return 'extension'
  }
}

/** `The channel "pager"` or `A channel` */
function labelOf(extension: unknown): string {
  const name = nameOf(extension)
  if (name.includes('"')) return `The ${name}`
  return `${name === 'extension' ? 'An' : 'A'} ${name}`
}
