// Keeps secrets out of what is shown: everything that the schema marks as one.
import type { JsonSchema } from '../typebox.ts'
import { replaceValues, rootPlace } from './walk.ts'

const redacted = '[redacted]'

/** A copy that can be shown: every secret is replaced by `[redacted]`. */
export const redactConfig = (config: unknown, schema: JsonSchema): unknown =>
  replaceValues(config, (value, { secret }) => (secret && typeof value === 'string' ? redacted : value), rootPlace(schema))

/** The exact path of every secret, as pino's `redact` takes it: `channels["my-chat"].botToken`. `prefix` is the field under which a configuration is logged. */
export const secretPaths = (config: unknown, schema: JsonSchema, prefix?: string): string[] =>
  secretsOf(config, schema).map(({ keys }) => pinoPath(prefix === undefined ? keys : [prefix, ...keys]))

/** The secrets themselves, longest first, to take them out of texts. */
export const secretValues = (config: unknown, schema: JsonSchema): string[] =>
  [...new Set(secretsOf(config, schema).map(({ value }) => value))].filter((value) => value.trim() !== '').toSorted((a, b) => b.length - a.length)

/** A line of JSON without these values, whatever field or text they stand in. */
export const withoutSecrets = (line: string, secrets: readonly string[]): string =>
  secrets.reduce((text, secret) => text.replaceAll(inJson(secret), redacted), line)

/** A secret as it stands inside a JSON string. */
const inJson = (secret: string): string => JSON.stringify(secret).slice(1, -1)

function secretsOf(config: unknown, schema: JsonSchema) {
  const secrets: { keys: readonly string[]; value: string }[] = []
  const note = (value: unknown, { keys, secret }: { keys: readonly string[]; secret: boolean }) => {
    if (secret && typeof value === 'string') secrets.push({ keys, value })
    return value
  }
  replaceValues(config, note, rootPlace(schema))
  return secrets
}

/** A key that pino's paths can't name has all that holds it hidden instead. */
function pinoPath(keys: readonly string[]): string {
  const unnamable = keys.findIndex((key) => key.includes(']') || (key.includes('"') && key.includes("'")))
  const named = unnamable < 0 ? keys : keys.slice(0, unnamable)
  return named.reduce(
    (path, key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? `${path}${path && '.'}${key}` : `${path}[${key.includes('"') ? `'${key}'` : `"${key}"`}]`),
    '',
  )
}
