// The option `--set key=value`: reads a value as the configuration's schema expects it.
import JSON5 from 'json5'
import { createConfigSchema } from '../../config/schema/schema.ts'
import { childSchema } from '../../config/walk.ts'
import type { JsonSchema } from '../../typebox.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Changes, SetupContext } from './context.ts'
import { mergeChanges } from './draft.ts'

interface Setting {
  keys: readonly string[]
  text: string
}

/** `changes` are those of the other options. The keys of a provider depend on its kind. */
export function readSettings(texts: readonly string[], changes: Changes, { extensions }: SetupContext): Changes {
  const settings = texts.map(splitSetting)
  const kinds = nest(settings.filter(({ keys }) => keys[0] === 'providers' && keys[2] === 'kind'))
  const { providers } = mergeChanges(changes, kinds)
  const schema = createConfigSchema(extensions, { providers })
  return nest(settings, (keys, text) => parseValue(text, keys.reduce<JsonSchema | undefined>(childSchema, schema)))
}

/** The plugins that the options name. They are loaded before anything else is read. */
export function readPlugins(texts: readonly string[]): string[] {
  const found = texts.map(splitSetting).filter(({ keys }) => keys.join('.') === 'plugins')
  return found.flatMap(({ text }) => parseValue(text, { type: 'array' }) as string[])
}

function splitSetting(text: string): Setting {
  const [, key = '', value = ''] = /^([^=]+)=([^]*)$/.exec(text) ?? []
  const keys = key.trim().split('.')
  if (keys.every((part) => part !== '')) return { keys, text: value }
  // The text may contain a secret.
  throw new CommandError('--set must be <key>=<value>, such as --set gateway.port=8080.')
}

const nest = (
  settings: readonly Setting[],
  parse: (keys: readonly string[], text: string) => unknown = (_keys, text) => text,
): Changes =>
  settings.reduce<Changes>((all, { keys, text }) => {
    const value = keys.reduceRight<unknown>((inner, key) => ({ [key]: inner }), parse(keys, text))
    return mergeChanges(all, value as Changes)
  }, {})

/** A text needs no quotes, and a list no brackets. What is not JSON5 stays text, which the schema then refuses. */
function parseValue(text: string, schema: JsonSchema | undefined): unknown {
  const { type, secret = false } = (schema ?? {}) as { type?: unknown; secret?: boolean }
  // A secret may be `{ file: "path" }`.
  if (type === 'string' && !(secret && /^\s*\{\s*['"]?file\b/.test(text))) return text
  if (type === 'array' && !text.trim().startsWith('['))
    return text
      .split(',')
      .map((item) => item.trim())
      .filter((item) => item !== '')
  try {
    return JSON5.parse(text)
  } catch {
    return text
  }
}
