// Removes from a response what was said, for clients that may not read it. Schemas mark it with `x-content`.
import type { JsonSchema } from '../typebox.ts'
import type { SessionKeySeal } from './cursor.ts'

/** The options of a schema whose value only clients with `content: true` get. The property must be optional. */
export const content = { 'x-content': true } as const

/** The options of the schema of a session key. Other clients get it sealed, and may send it so. */
export const sessionKey = { 'x-session-key': true } as const

interface Node {
  'x-content'?: true
  'x-session-key'?: true
  properties?: Readonly<Record<string, Node>>
  items?: Node
  anyOf?: readonly Node[]
}

export type HideContent = (schema: JsonSchema | undefined, value: unknown) => unknown

/** Returns a copy of a value without the properties that its schema marks, and with sealed session keys. */
export function createHideContent({ seal }: Pick<SessionKeySeal, 'seal'>): HideContent {
  const hide: HideContent = (schema, value) => {
    const { properties, items, anyOf, ...node } = (schema ?? {}) as Node
    if (typeof value === 'string' && node['x-session-key']) return seal(value)
    if (Array.isArray(value)) return items ? value.map((item) => hide(items as JsonSchema, item)) : value
    if (typeof value !== 'object' || value === null) return value
    if (anyOf) return anyOf.reduce((rest: unknown, one) => hide(one as JsonSchema, rest), value)
    if (!properties) return value
    return Object.fromEntries(
      Object.entries(value).flatMap(([key, child]) => {
        const property = Object.hasOwn(properties, key) ? properties[key] : undefined
        return property?.['x-content'] ? [] : [[key, hide(property, child)]]
      }),
    )
  }
  return hide
}

/** A copy of the parameters of a request in which session keys are not sealed. */
export function openSessionKeys(schema: object | undefined, value: unknown, { open }: SessionKeySeal): unknown {
  const { properties = {} } = (schema ?? {}) as Node
  const given = value as Readonly<Record<string, unknown>>
  const keys = Object.keys(properties).filter((name) => properties[name]?.['x-session-key'])
  const opened = keys.flatMap((name) => (typeof given[name] === 'string' ? [[name, open(given[name])]] : []))
  return opened.length === 0 ? value : { ...given, ...Object.fromEntries(opened) }
}
