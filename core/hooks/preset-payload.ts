// Reads the payload of a preset by its schema. A required field that does not fit refuses the payload; an optional one
// never does, because an alert must not get lost over a field that is only shown.
import { holdsBigInt } from '../json.ts'
import { isRecord } from '../config/walk.ts'
import { type Check, compileCheck, firstProblem, type JsonSchema } from '../typebox.ts'

interface PresetPayload {
  /** Fits the schema if there is no `problem`. */
  payload: unknown
  /** Why the payload is refused, as the end of a sentence. */
  problem?: string
}

/**
 * Returns a function that reads payloads. Of a payload that does not fit, it returns a copy in which each optional part
 * that does not fit is converted, if it is a number where a text is expected or the like, and left out otherwise.
 */
export function createPayloadReader(schema: JsonSchema): (payload: unknown) => PresetPayload {
  const check = compileCheck(schema)
  const fits = createFits()
  return (received) => {
    if (check.fits(received) && !holdsBigInt(received)) return { payload: received }
    const payload = fit(schema, received, fits)
    return check.fits(payload) ? { payload } : { payload, problem: firstProblem(check.problems(payload)) }
  }
}

type Schema = Readonly<Record<string, unknown>>

type Fits = (schema: Schema, value: unknown) => boolean

/** Compiles the parts of a schema when they are first needed. Most payloads fit, and need none. */
function createFits(): Fits {
  const checks = new Map<Schema, Check>()
  return (schema, value) => {
    const check = checks.get(schema) ?? compileCheck(schema)
    checks.set(schema, check)
    return check.fits(value)
  }
}

/** What does not fit even after this is returned as it is. */
function fit(schema: JsonSchema, value: unknown, fits: Fits): unknown {
  const { anyOf, properties, items, type } = schema as Schema
  if (Array.isArray(anyOf)) return fitOne(anyOf as Schema[], value, fits)
  if (isRecord(properties) && isRecord(value)) return fitFields(schema as Schema, value, fits)
  if (isRecord(items) && Array.isArray(value))
    return value.map((item) => fit(items, item, fits)).filter((item) => fits(items, item))
  if (type === 'string') return asText(value) ?? value
  if ((type === 'number' || type === 'integer') && isNumeral(value)) return Number(value)
  // A preset calculates with it. An integer may be an id, which must keep its digits.
  if (type === 'number' && typeof value === 'bigint') return Number(value)
  return value
}

/** The first alternative that the value fits, as it is or converted. */
function fitOne(alternatives: readonly Schema[], value: unknown, fits: Fits): unknown {
  if (!holdsBigInt(value) && alternatives.some((schema) => fits(schema, value))) return value
  const fitting = alternatives
    .map((schema) => ({ schema, fitted: fit(schema, value, fits) }))
    .filter(({ schema, fitted }) => fits(schema, fitted))
    .map(({ fitted }) => fitted)
  // A text keeps the digits of an id.
  const text = typeof value === 'bigint' ? fitting.find((fitted) => typeof fitted === 'string') : undefined
  return text ?? fitting[0] ?? value
}

function fitFields(
  { properties, required }: Schema,
  value: Record<string, unknown>,
  fits: Fits,
): Record<string, unknown> {
  const needed = new Set(Array.isArray(required) ? required : [])
  const fields = Object.entries(value).flatMap(([key, field]): [string, unknown][] => {
    const schemas = properties as Record<string, Schema>
    const schema = Object.hasOwn(schemas, key) ? schemas[key] : undefined
    if (schema === undefined) return [[key, field]]
    const fitted = fit(schema, field, fits)
    return needed.has(key) || fits(schema, fitted) ? [[key, fitted]] : []
  })
  return Object.fromEntries(fields)
}

/** A number or a truth value as text, and a list of such values separated by commas. */
function asText(value: unknown): string | undefined {
  if (isShort(value)) return String(value)
  if (!Array.isArray(value) || value.length === 0 || value.length > mostListed) return undefined
  return value.every((item) => typeof item === 'string' || isShort(item)) ? value.join(', ') : undefined
}

const isShort = (value: unknown): boolean => ['number', 'bigint', 'boolean'].includes(typeof value)

const mostListed = 100

const isNumeral = (value: unknown): boolean => typeof value === 'string' && /^-?\d{1,15}(\.\d{1,10})?$/.test(value)
