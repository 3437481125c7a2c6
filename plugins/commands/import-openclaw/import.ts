// Writes a configuration from that of openclaw, and lists what it could not carry over, and what the new configuration
// runs, sends and opens.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import JSON5 from 'json5'
import { quoteWord, readBytesOf } from 'svc-gateway/kit'
import { type CommandContext, CommandError, exitCodes } from 'svc-gateway/plugin'
import { channelsOfOtherBindings, readAgents, readBindings } from './agents.ts'
import { type CarryOver, carryOver, isRecord } from './carry-over.ts'
import { type Effect, listEffects } from './effects.ts'
import { openclawRules, reasonFor } from './rules.ts'
import { createTransforms, type Transforms } from './transforms.ts'

type Document = Record<string, unknown>
type Context = CommandContext<'configuration'>

interface ImportInput {
  file: string
  yes?: boolean
  force?: boolean
  json?: boolean
}

export async function importOpenclaw(input: ImportInput, context: Context): Promise<void> {
  const { configuration } = context
  const { force = false, json } = input
  const { source, ids, pathInFile } = readAgents(readSource(input.file))
  const target = configuration.newFile
  if (existsSync(target) && !force)
    throw new CommandError(`The configuration ${target} already exists; use --force to replace it.`)
  const { result, left } = convert(source, await configuration.listNames('channel'))
  const root = dirname(resolve(input.file))
  const to = join(dirname(target), 'transforms')
  const transforms = createTransforms({ root, from: transformsOf(source, root), to })
  // An agent without settings exists, too: its work must not become that of the default agent.
  for (const id of ids) at(result, ['agents', id], true)
  const moved = [...convertMappings({ source, result, transforms }), ...convertBindings(source, result)]
  const notCarriedOver = left()
    .filter((path) => !moved.some((other) => path.startsWith(other)))
    .map((path) => ({ path: pathInFile(path), reason: reasonFor(path) }))
  const effects = [...listEffects(result), ...copyOf(transforms)]
  if (!json) printEffects(effects, context)
  await confirm(effects, { input, context })
  transforms.write()
  configuration.create(describeFile(result, notCarriedOver), { replace: force })
  await printImport({ file: target, notCarriedOver, effects }, { json, context })
}

const copyOf = ({ source }: Transforms): Effect[] =>
  source === undefined ? [] : [{ kind: 'runs', path: 'transforms', what: `a copy of the code in ${source}` }]

function printEffects(effects: readonly Effect[], { terminal }: Context): void {
  if (effects.length > 0) terminal.printRow(['The new configuration'])
  for (const { kind, path, what } of effects) terminal.printRow([`  ${kind} ${what} (${path})`])
}

/** The configuration may be from somebody else, so that nothing of it takes effect unseen. */
async function confirm(
  effects: readonly Effect[],
  { input: { yes, json }, context: { terminal } }: { input: ImportInput; context: Context },
): Promise<void> {
  if (yes || effects.length === 0) return
  if (!json && terminal.isInteractive) {
    const answers = [
      { value: false, label: 'No, write nothing' },
      { value: true, label: 'Yes' },
    ]
    if (await terminal.choose('Write this configuration?', answers)) return
    throw new CommandError('Nothing was written.', exitCodes.interrupted)
  }
  if (json) terminal.printJson({ effects })
  throw new CommandError('Nothing was written. If you expect all of this, run the command again with --yes.')
}

interface Import {
  file: string
  /** Settings of the source that the new file does not have. */
  notCarriedOver: readonly { path: string; reason: string }[]
  effects: readonly Effect[]
}

/** Prints the new file, what was not carried over, and what `check` finds. */
async function printImport(
  { file, notCarriedOver, effects }: Import,
  { json, context: { configuration, terminal } }: { json: boolean | undefined; context: Context },
): Promise<void> {
  const start = terminal.commandLine(`start --config ${quoteWord(file)}`)
  const problems = await configuration.check(file)
  const hasError = problems.some(({ severity }) => severity === 'error')
  if (hasError) process.exitCode = 1
  if (json) return terminal.printJson({ file, notCarriedOver, effects, problems, start })
  const { length } = notCarriedOver
  const count = length === 1 ? '1 setting was' : `${length} settings were`
  terminal.print(`Wrote ${file}. Only you can read it. ${count} not carried over${length > 0 ? ':' : '.'}`)
  for (const { path, reason } of notCarriedOver) terminal.printRow([`  ${path}: ${reason}`])
  terminal.print(`Start with: ${start}`)
  for (const { severity, line, path, problem } of problems)
    terminal.notify(`${severity}: ${line === undefined ? '' : `line ${line}: `}${path} ${problem}`)
  if (!hasError) terminal.print('ok')
}

function readSource(file: string): Document {
  const text = readBytesOf('The configuration of openclaw', file).toString('utf8')
  try {
    const value = JSON5.parse<unknown>(text)
    if (isRecord(value)) return value
  } catch {
    throw new CommandError(`${file} is not valid JSON5.`)
  }
  throw new CommandError(`${file} is not a configuration of openclaw: it must be an object.`)
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
  if (key === 'allowFrom') return access['dmPolicy'] === 'disabled' || channelsOfOtherBindings(source).has(name)
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

/** @returns the paths of the source that are carried over */
function convertBindings(source: Document, result: Document): string[] {
  return readBindings(source).flatMap(({ path, agentId, channel, accountId }) => {
    const section = at(
      result,
      accountId === undefined ? ['channels', channel] : ['channels', channel, 'accounts', accountId],
    )
    if (Object.keys(section).length === 0) return []
    section['agentId'] ??= agentId
    return [path]
  })
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

/** The text of the new file. */
function describeFile(result: Document, notCarriedOver: Import['notCarriedOver']): string {
  const comment = [
    'Imported from a configuration of openclaw.',
    ...(notCarriedOver.length > 0 ? ['Not carried over:'] : []),
    ...notCarriedOver.map(({ path, reason }) => `  ${path}: ${reason}`),
  ]
  // A key of the source may contain a line break.
  const head = comment.map((line) => `// ${line.replaceAll(/[\r\n\u2028\u2029]/g, ' ')}\n`).join('')
  return `${head}${JSON.stringify(result, null, 2)}\n`
}
