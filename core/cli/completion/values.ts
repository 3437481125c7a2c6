// The values that a configuration or a running gateway knows: names of hooks, agents and channels, and ids of runs.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { locateConfig } from '../../config/file/locate.ts'
import { readConfigFile } from '../../config/file/read.ts'
import { isRecord } from '../../config/walk.ts'
import { fieldsOf, listOf } from '../../kit/shapes.ts'
import type { CompletedValue } from '../../plugin/command.ts'
import { callGateway, locateGateway } from '../locate-gateway.ts'

export interface Candidate {
  value: string
  description?: string | undefined
}

interface Context {
  operands: readonly string[]
  /** The values of the options that were typed. */
  given: Readonly<Record<string, string>>
}

type Source = (context: Context) => readonly Candidate[] | Promise<readonly Candidate[]>

/** @returns nothing if the values are not known, for example because no gateway runs */
export async function listValues(kind: CompletedValue, context: Context): Promise<readonly Candidate[]> {
  try {
    return await sources[kind](context)
  } catch {
    return []
  }
}

const texts = (values: readonly unknown[]): string[] => values.filter((one) => typeof one === 'string')
const valuesOf = (names: readonly unknown[]): Candidate[] => texts(names).map((value) => ({ value }))

// ── The configuration ───────────────────────────────────────────────────────────────────────────

/** A section of the configuration as it is written: no plugin is loaded for it. */
function readSection({ given }: Context, name: string) {
  const file = locateConfig({ option: given['config'] })
  const document = file === undefined ? undefined : readConfigFile(file)
  return { dir: document?.dir ?? process.cwd(), section: fieldsOf(document?.value[name]) }
}

const keysOf =
  (name: string, without?: string): Source =>
  (context) =>
    valuesOf(Object.keys(readSection(context, name).section).filter((key) => key !== without))

function readHooks(context: Context) {
  const { section } = readSection(context, 'hooks')
  return { presets: listOf(section['presets']), mappings: listOf(section['mappings']).filter(isRecord) }
}

function listTransforms(context: Context): Candidate[] {
  const { dir, section } = readSection(context, 'hooks')
  const [named = 'transforms'] = texts([section['transformsDir']])
  return valuesOf(readdirSync(join(dir, named)).filter((file) => /\.[cm]?[jt]s$/.test(file)))
}

const schemes: Source = async () => {
  const { loadBuiltins } = await import('../../loader/registry.ts')
  return valuesOf([...(await loadBuiltins()).schemes.keys()])
}

// ── The running gateway ─────────────────────────────────────────────────────────────────────────

/** Nobody waits longer for a completion. */
const timeoutMs = 5000

/** The newest items of a list of the control API: the field with the value, and those that describe it. */
const itemsOf =
  (path: string, value: string, ...facts: string[]): Source =>
  async ({ given }) => {
    const response = await callGateway(locateGateway(given), path, { timeoutMs })
    const items = listOf(fieldsOf(await response.json())['items']).map(fieldsOf)
    return items.map((item) => ({
      value: String(item[value]),
      description: texts(facts.map((fact) => item[fact])).join(' '),
    }))
  }

const sources: Readonly<Record<CompletedValue, Source>> = {
  agent: keysOf('agents', 'defaults'),
  channel: keysOf('channels'),
  file: () => [{ value: ':files' }],
  hook: (context) => {
    const { presets, mappings } = readHooks(context)
    return valuesOf([...mappings.map(({ match }) => fieldsOf(match)['path']), ...presets, 'wake', 'agent'])
  },
  mapping: (context) => {
    const { presets, mappings } = readHooks(context)
    return valuesOf([...mappings.map(({ id }) => id), ...presets])
  },
  preset: (context) => valuesOf(readHooks(context).presets),
  request: itemsOf('/api/requests?limit=50', 'id', 'status', 'hook', 'at'),
  run: itemsOf('/api/runs?limit=50', 'id', 'status', 'kind', 'createdAt'),
  sample: async ({ operands: [hook = ''] }) => {
    const { listSamples } = await import('../trigger/samples.ts')
    return valuesOf((await listSamples({ hook, extensions: undefined }, {})).trim().split('\n'))
  },
  scheme: schemes,
  session: itemsOf('/api/sessions?limit=100', 'key', 'agentId'),
  tool: itemsOf('/tools', 'name', 'description'),
  transform: listTransforms,
}
