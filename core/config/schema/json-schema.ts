// The JSON Schema of the configuration file as people write it, for editors: with defaults, variables and secret files.
import { notBlank } from '../../typebox.ts'
import { isRecord } from '../walk.ts'
import { type ConfigurableExtensions, providersSection } from './extensions.ts'
import { createConfigSchema } from './schema.ts'

/** Includes the sections of the loaded extensions. */
export function createJsonSchema(extensions: ConfigurableExtensions): object {
  const { properties, ...rest } = createConfigSchema(extensions)
  const providers = providersOfEachKind(extensions.providers)
  return {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'The configuration of svc-gateway',
    ...(asWritten({ ...rest, properties: { ...properties, providers } }) as object),
  }
}

/** The keys of a section of `providers` depend on its `kind`. */
function providersOfEachKind(providers: ConfigurableExtensions['providers']): object {
  const named = Object.fromEntries(Array.from(providers.keys(), (kind) => [kind, { kind }]))
  const { properties, additionalProperties, ...rest } = providersSection(providers, named) as unknown as {
    properties: Record<string, object>
    additionalProperties: object
  }
  const allOf = Object.entries(properties).map(([kind, section]) => ({
    if: { properties: { kind: { const: kind } }, required: ['kind'] },
    // oxlint-disable-next-line unicorn/no-thenable -- a keyword of JSON Schema
    then: section,
  }))
  return { ...rest, additionalProperties: { ...additionalProperties, allOf } }
}

/** What holds values, not schemas. */
const valueKeywords: ReadonlySet<string> = new Set(['default', 'fallback', 'keyNames', 'enum', 'const', 'required'])

/** What holds schemas by the names of keys. */
const mapKeywords: ReadonlySet<string> = new Set(['properties', 'patternProperties'])

/** A key with a default may be absent in the file, and a secret may be in another file. */
function asWritten(node: unknown): unknown {
  if (Array.isArray(node)) return node.map(asWritten)
  if (!isRecord(node)) return node
  const copy = mapValues(node, (child, keyword) => {
    if (mapKeywords.has(keyword) && isRecord(child)) return mapValues(child, asWritten)
    return valueKeywords.has(keyword) ? child : asWritten(child)
  })
  const { properties, required, secret } = copy
  for (const [own, standard] of ownKeywords)
    if (copy[own] !== undefined) {
      copy[standard] = copy[own]
      delete copy[own]
    }
  if (Array.isArray(required) && isRecord(properties))
    copy['required'] = required.filter((key: string) => !hasDefault(properties[key]))
  const written = withVariables(copy)
  return secret === true && copy['type'] === 'string' ? withSecretFile(written) : written
}

/** Keywords that only describe the file, and their names in JSON Schema. The check inside the gateway ignores them. */
const ownKeywords = [
  ['fallback', 'default'],
  ['keyNames', 'propertyNames'],
] as const

const variable = String.raw`\$\{`

/** A text with `${NAME}` has its format only once the variable is replaced. */
function withVariables({ pattern, enum: values, ...rest }: Record<string, unknown>): Record<string, unknown> {
  if (typeof pattern === 'string')
    return {
      ...rest,
      pattern: pattern === notBlank ? pattern : `${pattern}|${variable}`,
      ...(values !== undefined && { enum: values }),
    }
  if (!Array.isArray(values) || !values.some((value) => typeof value === 'string'))
    return { ...rest, ...(values !== undefined && { enum: values }) }
  const { type, ...annotations } = rest
  return {
    ...annotations,
    anyOf: [
      { ...(type !== undefined && { type }), enum: values },
      { type: 'string', pattern: variable },
    ],
  }
}

const mapValues = (
  record: Record<string, unknown>,
  change: (value: unknown, key: string) => unknown,
): Record<string, unknown> =>
  Object.fromEntries(Object.entries(record).map(([key, value]) => [key, change(value, key)]))

const hasDefault = (schema: unknown): boolean => isRecord(schema) && 'default' in schema

const SecretFile = {
  type: 'object',
  properties: { file: { type: 'string', description: 'The file that holds the secret.' } },
  required: ['file'],
  additionalProperties: false,
}

const withSecretFile = ({ type, pattern, minLength, ...rest }: Record<string, unknown>): object => ({
  ...rest,
  anyOf: [
    { type, ...(pattern !== undefined && { pattern }), ...(minLength !== undefined && { minLength }) },
    SecretFile,
  ],
})
