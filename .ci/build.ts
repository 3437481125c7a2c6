// Builds dist/: one file for each entry point, with shared chunks, source maps and types. With --if-stale
// only when a source is newer, so that `npm start` runs the current sources without stripping types at every start.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { type OutputOptions, type Plugin, type RolldownOptions, rolldown } from 'rolldown'
import { listBuiltinCommands, listBuiltins } from '../core/loader/discover.ts'
import { buildPage } from './page.ts'

const root = join(import.meta.dirname, '..')
const dist = join(root, 'dist')
const stamp = join(dist, '.built')
const sources = [
  'core',
  'channels',
  'plugins',
  'test/contracts',
  'test/contracts.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  '.ci',
]

async function build(): Promise<void> {
  rmSync(dist, { recursive: true, force: true })
  const [gateway, runner, page] = await Promise.all([
    bundleGateway(),
    bundleRunner(),
    buildPage(root, dist),
    bundleTransformHelpers(),
    compileTypes(),
  ])
  copyLicenses([...gateway, ...runner, ...page])
  writeFileSync(stamp, '')
}

async function compileTypes(): Promise<void> {
  const tsc = spawn(join(root, 'node_modules', '.bin', 'tsc'), ['-p', '.ci/tsconfig.types.json'], {
    cwd: root,
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  const [code] = (await once(tsc, 'exit').catch((cause: unknown) => {
    throw new Error('tsc is not installed; run "npm ci" with the development packages.', { cause })
  })) as [number | null]
  if (code !== 0) throw new Error('tsc failed.')
}

/**
 * What every start needs: loading their 1,000 small files one by one takes longer than everything else. All other
 * packages are loaded when first needed and stay outside of the bundle.
 */
const bundledPackages = [
  'cli-progress',
  'close-with-grace',
  'commander',
  'fastify',
  'fastify-plugin',
  'json5',
  'pino',
  'typebox',
]

/** Packages that some commands need without Fastify, with what they need themselves. */
const ownChunks: Readonly<Record<string, string>> = {
  'cli-progress': 'cli-progress|string-width|strip-ansi|ansi-regex|emoji-regex|is-fullwidth-code-point',
  commander: 'commander',
  json5: 'json5',
  typebox: 'typebox',
}

/** All chunks are at the root of dist/: worker threads find their entry files beside the chunk that starts them. */
async function bundleGateway(): Promise<string[]> {
  const input = {
    main: 'core/main.ts',
    plugin: 'core/plugin/plugin.ts',
    kit: 'core/kit/kit.ts',
    testing: 'test/contracts.ts',
    worker: 'core/store/sqlite/worker.ts',
    checkpointer: 'core/store/sqlite/checkpointer.ts',
    copier: 'core/store/sqlite/copier.ts',
    bundle: 'core/sandbox/bundle.ts',
  }
  const isBundled = new RegExp(`^(${bundledPackages.join('|')}|svc-gateway)(/|$)`)
  const external = (id: string, importer?: string): boolean =>
    /^[\w@]/.test(id) && !isBundled.test(id) && !importer?.includes('/node_modules/')
  const modules = await bundle(
    {
      input,
      external,
      plugins: [builtins, panels, largeChunks],
      treeshake: { moduleSideEffects: pureModules },
      // The large chunks need it. An entry has other exports than its own only if it is in one of them.
      preserveEntrySignatures: 'allow-extension',
      // What only some commands need may be in a chunk that every gateway loads.
      checks: { ineffectiveDynamicImport: false },
    },
    {
      sourcemap: true,
      sourcemapExcludeSources: true,
      chunkFileNames: ({ facadeModuleId }) => samplesFile(facadeModuleId) ?? '[name].js',
      codeSplitting: {
        groups: [
          ...Object.entries(ownChunks).map(([name, packages]) => ({
            name,
            test: new RegExp(`/node_modules/(${packages})/`),
            priority: 1,
          })),
          { name: 'command', test: /[\\/]core[\\/]plugin[\\/]command\.ts$/ },
          { name: 'packages', test: /node_modules/ },
          ...Object.keys(chunks).map((name) => ({
            name,
            test: (id: string) => chunkOf.get(id) === name,
            includeDependenciesRecursively: false,
          })),
        ],
      },
    },
  )
  // Nobody needs the places of an error inside a package.
  for (const name of [...Object.keys(ownChunks), 'packages']) rmSync(join(dist, `${name}.js.map`))
  return modules
}

/** The modules of extensions stay in small chunks, of which a command loads only what it uses. */
const ofExtensions = ['plugin/plugin.ts', 'kit/kit.ts']

/** Chunks with everything that these modules import, apart from that and from what is in an earlier chunk. */
const chunks: Readonly<Record<string, readonly string[]>> = {
  'command-line': ['cli/program.ts'],
  store: ['store/sqlite/batch.ts'],
  control: ['cli/control-client.ts', 'cli/completion/complete.ts'],
  configuration: ['cli/check/check.ts', 'cli/plugin/installed-plugins.ts'],
  gateway: ['cli/start/start.ts', 'gateway.ts'],
}

/** The chunk of each module; undefined: the bundler decides. */
const chunkOf = new Map<string, string | undefined>()

/**
 * A file takes longer to find than to load, and by default there is one for each set of modules that the same entries
 * share: a gateway would load eighty at its start. A short command or a thread of the store must not load more for it.
 */
const largeChunks: Plugin = {
  name: 'large-chunks',
  buildEnd() {
    const add = (id: string, chunk: string | undefined): void => {
      if (chunkOf.has(id)) return
      chunkOf.set(id, chunk)
      for (const imported of this.getModuleInfo(id)?.importedIds ?? []) add(imported, chunk)
    }
    const pathOf = (file: string): string => join(root, 'core', file)
    for (const file of ofExtensions) add(pathOf(file), undefined)
    for (const [chunk, files] of Object.entries(chunks)) for (const file of files) add(pathOf(file), chunk)
  },
}

const panelAddress = /new URL\((['"])\.\/panel\/\1, import\.meta\.url\)/

/** Declarations do nothing, so whoever imports one of them does not load the others. */
const pureModules = [{ test: /[\\/]core[\\/](?:kit|plugin)[\\/]/, sideEffects: false }]

/** The samples of each preset are a file of their own, which only `trigger` reads. */
function samplesFile(module: string | undefined): string | undefined {
  const [, preset] = /[\\/]presets[\\/]([\w-]+)[\\/]samples\.ts$/.exec(module ?? '') ?? []
  return preset && `samples/${preset}.js`
}

/**
 * Reading a file for each built-in extension would slow down the start, so the build has all of them in one module, and
 * the commands in another.
 */
const builtins: Plugin = {
  name: 'builtin-extensions',
  load: async (id) => {
    const [, name] = /[\\/]core[\\/]loader[\\/](builtins|builtin-commands)\.ts$/.exec(id) ?? []
    if (name === undefined) return null
    const files = await (name === 'builtins' ? listBuiltins : listBuiltinCommands)(root)
    const imports = files.map((file, index) => `import extension${index} from ${JSON.stringify(file)}\n`)
    const list = files.map((_, index) => `extension${index}`).join(', ')
    return `${imports.join('')}export const builtins = [${list}].flat()`
  },
}

/**
 * All modules are in one folder after the build, so the panels of the extensions have folders of their own beside them.
 */
const panels: Plugin = {
  name: 'panels',
  transform: {
    filter: { id: /[\\/](?:channels|plugins)[\\/].*[\\/]index\.ts$/, code: panelAddress },
    handler(code, id) {
      const folder = dirname(id)
      const name = `${basename(dirname(folder))}-${basename(folder)}`
      cpSync(join(folder, 'panel'), join(dist, 'panels', name), { recursive: true })
      return { code: code.replace(panelAddress, `new URL('./panels/${name}/', import.meta.url)`), map: null }
    },
  },
}

/** A sandbox process gets its code as one text and cannot read files. */
const bundleRunner = (): Promise<string[]> =>
  bundle({ input: 'core/sandbox/runner/runner.ts' }, { codeSplitting: false, file: join(dist, 'runner.js') })

/** One file, of which the bundler of the sandbox takes what a transform uses. It has its own copy of typebox. */
const bundleTransformHelpers = (): Promise<string[]> =>
  bundle(
    { input: 'core/transform.ts', external: /^typebox/, treeshake: { moduleSideEffects: false } },
    { codeSplitting: false, file: join(dist, 'transform.js') },
  )

/** @returns the paths of the modules in it */
async function bundle(input: RolldownOptions, output: OutputOptions): Promise<string[]> {
  await using built = await rolldown({
    cwd: root,
    platform: 'node',
    tsconfig: false,
    resolve: { conditionNames: ['svc-gateway-source', 'node', 'import'] },
    logLevel: 'warn',
    ...input,
  })
  const { output: files } = await built.write({
    format: 'esm',
    // V8 stores a source with one other character in two bytes per character, and so do the comments: 7 MB together.
    charset: 'ascii',
    comments: false,
    ...(output.file === undefined && { dir: dist }),
    ...output,
  })
  return files.flatMap((file) => (file.type === 'chunk' ? file.moduleIds : []))
}

/** The licenses of bundled packages require their text to be in every copy. */
function copyLicenses(modules: readonly string[]): void {
  mkdirSync(join(dist, 'licenses'))
  const names = modules.map((path) => /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(path)?.[1])
  for (const name of new Set(names.filter((name) => name !== undefined))) {
    const folder = join(root, 'node_modules', name)
    for (const file of readdirSync(folder).filter((file) => /^licen[cs]e/i.test(file)))
      copyFileSync(join(folder, file), join(dist, 'licenses', `${name.replace('/', '-')}-${file}`))
  }
}

/** A folder counts too: its time changes when a file is removed from it. */
function newestIn(path: string): number {
  const { mtimeMs } = statSync(path)
  const inside = statSync(path).isDirectory() ? readdirSync(path).map((name) => newestIn(join(path, name))) : []
  return Math.max(mtimeMs, ...inside)
}

function isStale(): boolean {
  const built = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return sources.some((source) => newestIn(join(root, source)) > built)
}

/**
 * Waits until no other process builds: two of them would delete each other's files. The lock is a transaction on an
 * empty SQLite file, which ends with its process.
 */
async function withLock(work: () => Promise<void>): Promise<void> {
  const db = new DatabaseSync(join(root, 'node_modules', '.svc-gateway-build.lock'), { timeout: 10 * 60_000 })
  try {
    db.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    await work()
  } finally {
    db.close()
  }
}

const isNeeded = (): boolean => !process.argv.includes('--if-stale') || isStale()

if (isNeeded()) {
  // Another process may have built it meanwhile.
  await withLock(async () => {
    if (isNeeded()) await build()
  }).catch((error: Error) => {
    process.stderr.write(`The build failed: ${error.message}\n`)
    process.exitCode = 1
  })
}
