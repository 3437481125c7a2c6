// What a transform is given and what it may return: a part of the contract, kept in a file of its own.
import type { ActionOverrides } from './action.ts'

export type { ActionOverrides } from './action.ts'

/**
 * What the default function of a transform is called with: frozen copies, without credentials, cookies and signatures.
 */
export interface TransformInput<Payload = unknown> {
  /** The body; it fits the schema that the module exports as `payload`, where it does. */
  readonly payload: Payload
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>
  readonly query: Readonly<Record<string, unknown>>
  /** The hook's name: what follows `hooks.path` in the URL. */
  readonly path: string
  /** When the request came, ISO 8601, UTC. */
  readonly now: string
  /** The entry of `hooks.mappings` that the transform belongs to, without its secrets. */
  readonly mapping: Readonly<Record<string, unknown>>
}

/**
 * Nothing: no change. `null`: skip this request. A list (200 at most): several actions, of which all are accepted or
 * none.
 */
export type TransformResult = ActionOverrides | ActionOverrides[] | null | undefined | void

/**
 * The default export of a transform's module. @example export default (({ payload }) => ({ message: payload.title }))
 * satisfies Transform<Static<typeof payload>>
 */
export type Transform<Payload = unknown> = (
  input: TransformInput<Payload>,
) => TransformResult | Promise<TransformResult>
