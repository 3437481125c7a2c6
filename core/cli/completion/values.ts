// The values that a configuration or a running gateway knows: names of hooks, agents and channels, and ids of runs.
import { readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { locateConfig } from '../../config/file/locate.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { isRecord } from '../../config/walk.ts'
import { locateGateway } from '../control-client.ts'

export interface Candidate {
  value: string
  description?: string | undefined
}

/** Values of the options that were typed, by the names of the options in code. */
export type TypedOptions = Record<string, string>

interface Context {
  operands: readonly string[]
  typed: TypedOptions
}

type Source = (context: Context) => readonly Candidate[] | Promise<readonly Candidate[]>

/**
 * @param key an option such as `hook`, or an argument such as `runs show <id>`
 * @returns nothing if the values are not known, for example because no gateway runs
 */
export async function listValues(key: string, context: Context): Promise<readonly Candidate[]> {
  try {
    return (await sources[key]?.(context)) ?? []
  } catch {
    return []
  }
}

const valuesOf = (names: readonly string[]): Candidate[] => names.map((value) => ({ value }))

const files: Source = () => [{ value: ':files' }]

// ── The configuration ───────────────────────────────────────────────────────────────────────────

/** The configuration as it is written: no plugin is loaded for it. */
function readDocument({ typed }: Context) {
  const surroundings = { option: typed['config'], env: process.env, cwd: process.cwd(), home: homedir() }
  const file = locateConfig(surroundings)
  const document = file === undefined ? undefined : readConfigFile(file)
  const section = (name: string): Record<string, unknown> => {
    const value = document?.value[name]
    return isRecord(value) ? value : {}
  }
  return { dir: document?.dir ?? process.cwd(), section }
}

const listOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
const texts = (values: readonly unknown[]): string[] => values.filter((one) => typeof one === 'string')
const keysOf =
  (name: string, without: readonly string[] = []): Source =>
  (context) =>
    valuesOf(Object.keys(readDocument(context).section(name)).filter((key) => !without.includes(key)))

const mappingsOf = (context: Context) => listOf(readDocument(context).section('hooks')['mappings']).filter(isRecord)

const presets: Source = (context) => valuesOf(texts(listOf(readDocument(context).section('hooks')['presets'])))

const hooks: Source = async (context) => {
  const paths = mappingsOf(context).map(({ match }) => (isRecord(match) ? match['path'] : undefined))
  return [...valuesOf(texts(paths)), ...(await presets(context)), ...valuesOf(['wake', 'agent'])]
}

const mappings: Source = async (context) => [
  ...valuesOf(texts(mappingsOf(context).map(({ id }) => id))),
  ...(await presets(context)),
]

const transforms: Source = (context) => {
  const { dir, section } = readDocument(context)
  const [named = 'transforms'] = texts([section('hooks')['transformsDir']])
  const folder = join(dir, named)
  return valuesOf(readdirSync(folder).filter((file) => /\.[cm]?[jt]s$/.test(file)))
}

const samples: Source = async ({ operands: [hook = ''] }) => {
  const { listSamples } = await import('../trigger/samples.ts')
  return valuesOf((await listSamples({ hook, extensions: undefined }, {})).trim().split('\n'))
}

const schemes: Source = async () => {
  const { loadBuiltins } = await import('../../loader/registry.ts')
  return valuesOf([...(await loadBuiltins()).schemes.keys()])
}

// ── The running gateway ─────────────────────────────────────────────────────────────────────────

type Item = Readonly<Record<string, unknown>>

/** Nobody waits longer for a completion. */
const timeoutMs = 5000

/** The newest items of a list of the control API. */
const itemsOf =
  (path: string, read: (item: Item) => Candidate): Source =>
  async ({ typed }) => {
    const { config, url, token } = typed
    const { address, credential } = locateGateway({
      ...(config !== undefined && { config }),
      ...(url !== undefined && { url }),
      ...(token !== undefined && { token }),
    })
    const authorization = Buffer.from(`Bearer ${credential}`, 'utf8').toString('latin1')
    const init = { headers: { authorization }, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) } as const
    const response = await fetch(address + path, init)
    const { items } = (await response.json()) as { items: Item[] }
    return items.map(read)
  }

const described = (id: unknown, ...facts: unknown[]): Candidate => ({
  value: String(id),
  description: texts(facts).join(' '),
})

const runs = itemsOf('/api/runs?limit=50', ({ id, status, kind, createdAt }) => described(id, status, kind, createdAt))
const requests = itemsOf('/api/requests?limit=50', ({ id, status, hook, at }) => described(id, status, hook, at))
const sessions = itemsOf('/api/sessions?limit=100', ({ key, agentId }) => described(key, agentId))
const tools = itemsOf('/tools', ({ name, description }) => described(name, description))

const sources: Readonly<Record<string, Source>> = {
  hook: hooks,
  agent: keysOf('agents', ['defaults']),
  mapping: mappings,
  session: sessions,
  run: runs,
  scheme: schemes,
  sample: samples,
  config: files,
  file: files,
  payload: files,
  body: files,
  client: files,
  dir: files,
  'trigger <hook>': hooks,
  'requests <request-id>': requests,
  'replay <request-id>': requests,
  'runs show <id>': runs,
  'runs cancel <id>': runs,
  'runs retry <id>': runs,
  'sessions show <key>': sessions,
  'tools invoke <tool>': tools,
  'tools explain <tool>': tools,
  'channels login <name>': keysOf('channels'),
  'channels logout <name>': keysOf('channels'),
  'pairing revoke <channel>': keysOf('channels'),
  'presets setup <name>': presets,
  'transform test <module>': transforms,
  'backup <file>': files,
  'restore <file>': files,
  'import openclaw <file>': files,
  'import curl <file>': files,
}
