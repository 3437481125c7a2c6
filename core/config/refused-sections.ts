// Sets aside the sections of extensions that were refused, so that the gateway starts without them: a plugin that needs
// another version must not keep it from accepting webhooks.
import type { JsonSchema } from '../typebox.ts'
import type { Finding } from './file/secrets.ts'
import { nearest } from './nearest.ts'
import type { ConfigurableExtensions } from './schema/schema.ts'
import { isRecord, knownKeys } from './walk.ts'

interface SetAside {
  /** The document without these sections. */
  value: Record<string, unknown>
  warnings: (Finding & { warning: true })[]
}

/** @param deps `schema`: that of the loaded extensions */
export function setAsideRefused(document: Record<string, unknown>, deps: Deps): SetAside {
  const { refused = [] } = deps.extensions
  if (refused.length === 0) return { value: document, warnings: [] }
  const found = [...sectionsOfRefused(document, deps), ...presetsOfRefused(document, deps)]
  return { value: without(document, found), warnings: found.map((keys) => ({ keys, problem, warning: true })) }
}

interface Deps {
  schema: JsonSchema
  extensions: ConfigurableExtensions
}

type Keys = readonly [section: string, name: string] | readonly [section: string, name: string, index: string]

function sectionsOfRefused(document: Record<string, unknown>, { schema, extensions }: Deps): Keys[] {
  const named = Object.entries(kindOfSection).flatMap(([section, kind]) => {
    const mayBe = compileMayBe(kind, knownKeys(schema, [section]), extensions)
    return entriesOf(document[section]).flatMap(([name, value]): Keys[] =>
      isRecord(value) && mayBe(name) ? [[section, name]] : [],
    )
  })
  const mayBeProvider = compileMayBe('provider', [...extensions.providers.keys()], extensions)
  const providers = entriesOf(document['providers']).flatMap(([name, value]): Keys[] =>
    isRecord(value) && mayBeProvider(value['kind']) ? [['providers', name]] : [],
  )
  return [...named, ...providers]
}

function presetsOfRefused({ hooks }: Record<string, unknown>, { extensions }: Deps): Keys[] {
  const mayBe = compileMayBe('preset', [...extensions.presets.keys()], extensions)
  const listed: readonly unknown[] = isRecord(hooks) && Array.isArray(hooks['presets']) ? hooks['presets'] : []
  return listed.flatMap((name, index): Keys[] => (mayBe(name) ? [['hooks', 'presets', String(index)]] : []))
}

/** If the names of a plugin's extensions are not known, what looks like a typing error still is one. */
const compileMayBe =
  (kind: string, known: readonly string[], { refused = [] }: ConfigurableExtensions) =>
  (name: unknown): boolean =>
    typeof name === 'string' &&
    !known.includes(name) &&
    refused.some((one) =>
      one.name === undefined ? nearest(name, known) === undefined : one.kind === kind && one.name === name,
    )

function without(document: Record<string, unknown>, found: readonly Keys[]): Record<string, unknown> {
  const value = structuredClone(document) as Record<string, Record<string, unknown>>
  // From the end, so that the indexes of a list stay right.
  for (const [section, name, index] of found.toReversed())
    if (index === undefined) Reflect.deleteProperty(value[section] ?? {}, name)
    else ((value[section] ?? {})[name] as unknown[]).splice(Number(index), 1)
  return value
}

const problem =
  'is ignored, because a plugin was refused that it may belong to; it takes effect when the plugin can be used'

/** Sections whose keys may be names of extensions. */
const kindOfSection: Readonly<Record<string, string>> = { channels: 'channel', tools: 'toolset', hooks: 'preset' }

const entriesOf = (section: unknown): [string, unknown][] => (isRecord(section) ? Object.entries(section) : [])
