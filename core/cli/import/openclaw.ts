// The command `import openclaw`: writes a configuration from that of openclaw, and lists what it could not carry over,
// and what the new configuration runs, sends and opens.
import { existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import JSON5 from 'json5'
import { ConfigError } from '../../config/config-error.ts'
import { firstConfigFile } from '../../config/file/locate.ts'
import { writePrivateFile } from '../../config/file/write.ts'
import { isRecord } from '../../config/walk.ts'
import { loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../../plugin/errors.ts'
import { printJson } from '../inspect/output.ts'
import { type CarryOver, carryOver } from './carry-over.ts'
import { type Effect, listEffects } from './openclaw-effects.ts'
import { type LeftSetting, printEffects, printImport } from './openclaw-report.ts'
import { openclawRules, reasonFor } from './openclaw-rules.ts'
import { createTransforms, type Transforms } from './openclaw-transform.ts'

type Document = Record<string, unknown>

interface ImportOptions {
  config?: string
  yes?: boolean
  force?: boolean
  json?: boolean
}

export async function importOpenclaw(file: string, options: ImportOptions) {
  const { config, force = false, json = false } = options
  const source = readSource(file)
  const target = config ? resolve(config) : firstConfigFile({ cwd: process.cwd(), home: homedir() })
  if (existsSync(target) && !force) throw alreadyExists(target)
  const { result, left } = convert(source, await listChannels())
  const root = dirname(resolve(file))
  const transforms = createTransforms({
    root,
    from: transformsOf(source, root),
    to: join(dirname(target), 'transforms'),
  })
  const moved = convertMappings({ source, result, transforms })
  const notCarriedOver = left()
    .filter((path) => !moved.some((other) => path.startsWith(other)))
    .map((path) => ({ path, reason: reasonFor(path) }))
  const effects = [...listEffects(result), ...copyOf(transforms)]
  if (!json) printEffects(effects)
  await confirm(effects, options)
  transforms.write()
  writeResult(target, { result, notCarriedOver, force })
  await printImport({ file: target, notCarriedOver, effects }, json)
}

const copyOf = ({ source }: Transforms): Effect[] =>
  source === undefined ? [] : [{ kind: 'runs', path: 'transforms', what: `a copy of the code in ${source}` }]

/** The configuration may be from somebody else, so that nothing of it takes effect unseen. */
async function confirm(effects: readonly Effect[], { yes = false, json = false }: ImportOptions): Promise<void> {
  if (yes || effects.length === 0) return
  if (!json && process.stdin.isTTY && process.stdout.isTTY) {
    const { choose, endedByUser } = await import('../setup/wizard/prompts.ts')
    const choices = [
      { value: false, label: 'No, write nothing' },
      { value: true, label: 'Yes' },
    ]
    if (await choose('Write this configuration?', choices)) return
    throw endedByUser()
  }
  if (json) printJson({ effects })
  throw new CommandError('Nothing was written. If you expect all of this, run the command again with --yes.')
}

function readSource(file: string): Document {
  const text = readText(file)
  try {
    const value = JSON5.parse<unknown>(text)
    if (isRecord(value)) return value
  } catch {
    throw new CommandError(`${file} is not valid JSON5.`)
  }
  throw new CommandError(`${file} is not a configuration of openclaw: it must be an object.`)
}

function readText(file: string): string {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new CommandError(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}).`)
  }
}

async function listChannels(): Promise<string[]> {
  const silent = { debug() {}, info() {}, warn() {}, error() {} }
  const extensions = await loadExtensions({ plugins: [], dir: process.cwd(), log: silent })
  extensions.close()
  return [...extensions.channels.keys()]
}

/** Providers that need no more than a key from the environment. */
const ownProviders: ReadonlySet<string> = new Set(['anthropic', 'openai', 'google'])

function convert(source: Document, channels: readonly string[]): CarryOver {
  const listed = at(source, ['models', 'providers'])
  const used = new Set<string>()
  const knowsModel = (model: unknown) => {
    const [provider = ''] = typeof model === 'string' ? model.split('/') : []
    const isCarried =
      Object.hasOwn(listed, provider) && !isLeftBehind(source, ['models', 'providers', provider], channels)
    if (!isCarried && !ownProviders.has(provider)) return undefined
    used.add(provider)
    return model
  }
  const carried = carryOver(source, openclawRules(knowsModel), (path) => isLeftBehind(source, path, channels))
  const providers = at(carried.result, ['providers'], used.size > 0)
  for (const provider of used) providers[provider] ??= { kind: provider }
  return carried
}

/** Access is never widened: what has another meaning here is left behind. */
function isLeftBehind(source: Document, path: readonly string[], channels: readonly string[]): boolean {
  const [section, name = '', ...rest] = path
  if (section === 'models' && path[1] === 'providers')
    return !/^(?:openai-completions|openai-responses|anthropic-messages|google-generative-ai)$/.test(
      String(at(source, path.slice(0, 3))['api']),
    )
  if (section !== 'channels') return false
  if (!channels.includes(name)) return true
  const shared = at(source, ['channels', name])
  const access = rest[0] === 'accounts' ? { ...shared, ...at(source, path.slice(0, 4)) } : shared
  const key = rest[0] === 'accounts' ? rest[2] : rest[0]
  if (key === 'allowFrom') return access['dmPolicy'] === 'disabled'
  return key === 'groups' && !hasSameSenders(access)
}

const hasSameSenders = ({ groupPolicy, groupAllowFrom, allowFrom }: Document): boolean =>
  groupPolicy !== 'disabled' &&
  (groupAllowFrom === undefined || JSON.stringify(groupAllowFrom) === JSON.stringify(allowFrom))

/** The object at a path, or an empty one. */
function at(document: Document, path: readonly string[], create = false): Document {
  return path.reduce((parent, key) => {
    const child = Object.hasOwn(parent, key) ? parent[key] : undefined
    if (isRecord(child)) return child
    const empty: Document = {}
    if (create) parent[key] = empty
    return empty
  }, document)
}

/** Relative to the folder of the configuration. */
function transformsOf(source: Document, dir: string): string {
  const given = at(source, ['hooks'])['transformsDir']
  const path = typeof given === 'string' ? given.replace(/^~(?=\/|$)/, homedir()) : join('hooks', 'transforms')
  return relative(dir, resolve(dir, path))
}

interface Mappings {
  source: Document
  result: Document
  transforms: Transforms
}

/** @returns the paths of the source that are carried over */
function convertMappings({ source, result, transforms }: Mappings): string[] {
  const original = at(source, ['hooks'])['mappings']
  if (!Array.isArray(original)) return []
  const carried = at(result, ['hooks', 'mappings'])
  const moved: string[] = []
  const mappings = original.map((mapping: unknown, index) => {
    const converted = convertElements(at(carried, [String(index)]))
    const module = isRecord(mapping) ? transforms.wrap(mapping['transform']) : undefined
    if (module === undefined) return converted
    moved.push(`hooks.mappings.${index}.transform`, 'hooks.transformsDir')
    return Object.assign(converted, { transform: { module } })
  })
  at(result, ['hooks'], true)['mappings'] = mappings
  return moved
}

/** Templates of openclaw see the current element of `forEach` as the first one of the list. */
function convertElements(mapping: Document): Document {
  const { forEach } = mapping
  if (typeof forEach !== 'string') return mapping
  const first = new RegExp(`(\\{\\{\\s*)(?:payload\\.)?${RegExp.escape(forEach)}\\[0\\]`, 'g')
  return Object.fromEntries(
    Object.entries(mapping).map(([key, value]) => [
      key,
      typeof value === 'string' ? value.replaceAll(first, '$1item') : value,
    ]),
  )
}

interface Result {
  result: Document
  notCarriedOver: readonly LeftSetting[]
  force: boolean
}

function writeResult(target: string, { result, notCarriedOver, force }: Result): void {
  const comment = [
    'Imported from a configuration of openclaw.',
    ...(notCarriedOver.length > 0 ? ['Not carried over:'] : []),
    ...notCarriedOver.map(({ path, reason }) => `  ${path}: ${reason}`),
  ]
  // A key of the source may contain a line break.
  const head = comment.map((line) => `// ${line.replaceAll(/[\r\n\u2028\u2029]/g, ' ')}\n`).join('')
  try {
    writePrivateFile(target, `${head}${JSON.stringify(result, null, 2)}\n`, { overwrite: force })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw code === 'EEXIST'
      ? alreadyExists(target)
      : new ConfigError(target, [{ path: '', problem: `cannot be written (${code})` }])
  }
}

const alreadyExists = (target: string) =>
  new ConfigError(target, [{ path: '', problem: 'already exists; use --force to replace it' }])
