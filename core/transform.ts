// What a transform imports from `svc-gateway/transform`: its types, the schema builder, and the helpers of the kit that
// only compute. The sandbox bundles this file with the transform, so nothing here may need Node or a global of it.
import type { ActionOverrides } from './action.ts'

export type { ActionOverrides } from './action.ts'
export { type EventText, eventMessage } from './kit/event-message.ts'
export { exactId, type FieldFormat, listFields } from './kit/fields.ts'
export { entryOf, Maybe } from './kit/payload.ts'
export { countOf, fieldsOf, listOf, textOf } from './kit/shapes.ts'
export { clip, line, lines, quote, words } from './kit/text.ts'
export { type JsonSchema, type Static, type TSchema, Type } from './typebox.ts'

/** The argument of a transform: frozen copies, without credentials, cookies and signatures. */
export interface TransformInput<Payload = unknown> {
  /** The body. It fits the schema that the module exports as `payload`, where the module exports one. */
  readonly payload: Payload
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query: Readonly<Record<string, unknown>>
  /** Name of the hook: the part of the URL after `hooks.path`. */
  readonly path: string
  /** The time of the request, in ISO 8601, UTC. */
  readonly now: string
  /** The entry of `hooks.mappings` that uses the transform, without its secrets. */
  readonly mapping: Readonly<Record<string, unknown>>
}

/**
 * Nothing leaves the action of the mapping unchanged; `null` skips the request; a list (at most 200) starts several
 * actions, of which all are accepted or none.
 */
export type TransformResult = ActionOverrides | ActionOverrides[] | null | undefined | void

/**
 * The default export of a transform's module. @example export default (({ payload }) => ({ message: payload.title }))
 * satisfies Transform<Static<typeof payload>>
 */
export type Transform<Payload = unknown> = (
  input: TransformInput<Payload>,
) => TransformResult | Promise<TransformResult>
