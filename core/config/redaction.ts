// Removes secrets, which are marked in the schema, from everything that is shown or logged.
import { readJson } from '../json.ts'
import type { JsonSchema } from '../typebox.ts'
import { allCredentials, type AuthSettings } from './credentials.ts'
import { replaceValues, type SchemaPosition } from './walk.ts'

const redacted = '[redacted]'

/** Returns a copy with every secret replaced by `[redacted]`. */
export const redactConfig = (config: unknown, schema: JsonSchema): unknown =>
  replaceValues(config, schema, (value, position) => (isSecretText(value, position) ? redacted : value))

/** Shorter values, such as `1` or `debug`, are not redacted: they appear in too many other texts. */
const minSecretLength = 6

/** The values of the secrets, longest first. */
export const secretValues = (config: unknown, schema: JsonSchema): string[] => longestFirst(valuesOf(config, schema))

/** The values that must not be logged: secrets of the configuration and credentials of the environment. */
export const logSecrets = (
  { config, schema }: { config: { gateway: { auth: AuthSettings } }; schema: JsonSchema },
  env: NodeJS.ProcessEnv,
): string[] => longestFirst([...secretValues(config, schema), ...allCredentials(config.gateway.auth, env)])

/** Longest first, so that a secret inside another one does not leave the rest of it visible. */
const longestFirst = (values: readonly string[]): string[] =>
  [...new Set(values.map((value) => value.trim()))]
    .filter((value) => value.length >= minSecretLength)
    .toSorted((a, b) => b.length - a.length)

export interface Redactor {
  /** Adds values. Values of earlier configurations stay hidden, because running work may still use them. */
  hide(values: readonly string[]): void
  /** Adds values that are secret for minutes, such as codes of a login. Only the newest stay hidden. */
  hideForNow(values: readonly string[]): void
  /** Redacts a text. */
  text(text: string): string
  /** Redacts the strings of a JSON text, but not its keys. */
  json(text: string): string
}

/** Beyond this number, the oldest secrets of earlier configurations are dropped. */
const maxSecrets = 1_000
/** Apart from the others, so that many codes cannot displace a secret of the configuration. */
const maxPassing = 200

export function createRedactor(values: readonly string[] = []): Redactor {
  let known: readonly string[] = []
  let passing: readonly string[] = []
  let secrets: readonly string[] = []

  const hide: Redactor['hide'] = (added) => {
    known = [...new Set([...added, ...known])].slice(0, Math.max(maxSecrets, added.length))
    secrets = longestFirst([...known, ...passing])
  }
  const hideForNow: Redactor['hideForNow'] = (added) => {
    passing = [...new Set([...added, ...passing])].slice(0, maxPassing)
    secrets = longestFirst([...known, ...passing])
  }
  const text: Redactor['text'] = (given) => secrets.reduce((rest, secret) => rest.replaceAll(secret, redacted), given)
  const redactLeaf = (_key: string, value: unknown): unknown => (typeof value === 'string' ? text(value) : value)
  // Searching is cheaper than parsing, and few lines contain a secret.
  const json: Redactor['json'] = (given) =>
    secrets.some((secret) => given.includes(inJson(secret))) ? JSON.stringify(readJson(given, redactLeaf)) : given

  hide(values)
  return { hide, hideForNow, text, json }
}

/** The value as it is escaped in a JSON string. */
const inJson = (value: string): string => JSON.stringify(value).slice(1, -1)

function valuesOf(config: unknown, schema: JsonSchema): string[] {
  const values: string[] = []
  replaceValues(config, schema, (value, position) => {
    if (isSecretText(value, position)) values.push(value)
    return value
  })
  return values
}

/** A default is public. */
const isSecretText = (value: unknown, { secret, schema = {} }: SchemaPosition): value is string =>
  secret && typeof value === 'string' && !('default' in schema && value === schema.default)
