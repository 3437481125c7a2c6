// Keeps secrets out of what is shown: everything that the schema marks as one.
import type { JsonSchema } from '../typebox.ts'
import { allCredentials, type AuthSettings } from './credentials.ts'
import { replaceValues, rootPosition } from './walk.ts'

const redacted = '[redacted]'

/** A copy that can be shown: every secret is replaced by `[redacted]`. */
export const redactConfig = (config: unknown, schema: JsonSchema): unknown =>
  replaceValues(
    config,
    (value, { secret }) => (secret && typeof value === 'string' ? redacted : value),
    rootPosition(schema),
  )

/**
 * The exact path of every secret, as pino's `redact` takes it: `channels["my-chat"].botToken`. `prefix` is the field
 * under which a configuration is logged.
 */
export const secretPaths = (config: unknown, schema: JsonSchema, prefix?: string): string[] =>
  secretsOf(config, schema).map(({ keys }) => pinoPath(prefix === undefined ? keys : [prefix, ...keys]))

/** Shorter values, such as `1` or `debug`, are no secrets: taking them out would garble every other text. */
const shortestSecret = 6

/** The secrets themselves, longest first, to take them out of texts. */
export const secretValues = (config: unknown, schema: JsonSchema): string[] =>
  longestFirst(secretsOf(config, schema).map(({ value }) => value))

/**
 * Every value that no line of the log may hold: the secrets of the configuration, and the credentials from the
 * environment.
 */
export const logSecrets = (
  { config, schema }: { config: { gateway: { auth: AuthSettings } }; schema: JsonSchema },
  env: NodeJS.ProcessEnv,
): string[] => longestFirst([...secretValues(config, schema), ...allCredentials(config.gateway.auth, env)])

/** Longest first, so that none hides a part of another. */
const longestFirst = (values: readonly string[]): string[] =>
  [...new Set(values.map((value) => value.trim()))]
    .filter((value) => value.length >= shortestSecret)
    .toSorted((a, b) => b.length - a.length)

export interface Redactor {
  /**
   * Adds values. Those of earlier configurations stay hidden: work that began under them, and other services, may still
   * use them.
   */
  hide(values: readonly string[]): void
  /** The text without the values. */
  text(text: string): string
  /** The JSON text without the values in any of its strings; names of fields stay as they are. */
  json(text: string): string
}

/** However often secrets are replaced, the oldest of them are forgotten beyond this number. */
const mostSecrets = 1_000

export function createRedactor(values: readonly string[] = []): Redactor {
  let known: readonly string[] = []
  let secrets: readonly string[] = []

  const hide: Redactor['hide'] = (added) => {
    known = [...new Set([...added, ...known])].slice(0, Math.max(mostSecrets, added.length))
    secrets = longestFirst(known)
  }
  const text: Redactor['text'] = (given) => secrets.reduce((rest, secret) => rest.replaceAll(secret, redacted), given)
  const redactLeaf = (_key: string, value: unknown): unknown => (typeof value === 'string' ? text(value) : value)
  // Parsing costs more than looking, and few lines hold a secret.
  const json: Redactor['json'] = (given) =>
    secrets.some((secret) => given.includes(inJson(secret))) ? JSON.stringify(JSON.parse(given, redactLeaf)) : given

  hide(values)
  return { hide, text, json }
}

/** A value as it stands inside a JSON string. */
const inJson = (value: string): string => JSON.stringify(value).slice(1, -1)

function secretsOf(config: unknown, schema: JsonSchema) {
  const secrets: { keys: readonly string[]; value: string }[] = []
  const note = (value: unknown, { keys, secret }: { keys: readonly string[]; secret: boolean }) => {
    if (secret && typeof value === 'string') secrets.push({ keys, value })
    return value
  }
  replaceValues(config, note, rootPosition(schema))
  return secrets
}

/** A key that pino's paths can't name has all that holds it hidden instead. */
function pinoPath(keys: readonly string[]): string {
  const unnamable = keys.findIndex((key) => key.includes(']') || (key.includes('"') && key.includes("'")))
  const named = unnamable < 0 ? keys : keys.slice(0, unnamable)
  return named.reduce(
    (path, key) =>
      /^[A-Za-z_$][\w$]*$/.test(key)
        ? `${path}${path && '.'}${key}`
        : `${path}[${key.includes('"') ? `'${key}'` : `"${key}"`}]`,
    '',
  )
}
