// Paging for the lists of the control API, newest first.
import { GatewayError } from '../errors.ts'
import type { Page, PageRequest } from '../store/store.ts'
import { type Static, type TSchema, Type } from '../typebox.ts'

const defaultLimit = 50

/** The query parameters for paging, with the limit that applies when none is given. */
export const pageQueryOf = (fallbackLimit: number) => ({
  cursor: Type.Optional(
    Type.String({ pattern: String.raw`^\d{1,15}$`, description: 'The `next` of the previous page.' }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]?|1[0-9][0-9]|200)$',
      description: `The largest number of items: 1 to 200; the default is ${fallbackLimit}.`,
      'x-schema': { type: 'integer', minimum: 1, maximum: 200, default: fallbackLimit },
    }),
  ),
})

/** The query parameters for paging with the default limit. */
export const pageQuery = pageQueryOf(defaultLimit)

export const pageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: Type.Optional(
      Type.String({
        description:
          'The `cursor` of the next page; absent on the last page. A page with few or no items may still have it.',
      }),
    ),
  })

export const limitOf = ({ limit }: { limit?: string | undefined }, fallbackLimit = defaultLimit): number =>
  Number(limit ?? fallbackLimit)

export function pageRequest(
  query: { cursor?: string | undefined; limit?: string | undefined },
  fallbackLimit = defaultLimit,
): PageRequest {
  return { before: query.cursor === undefined ? undefined : Number(query.cursor), limit: limitOf(query, fallbackLimit) }
}

export function viewPage<Row, View>(
  { items, next }: Page<Row>,
  view: (row: Row) => View,
): { items: View[]; next?: string } {
  return { items: items.map(view), ...(next !== undefined && { next: String(next) }) }
}

export function parseSince(since: string | undefined): number | undefined {
  if (since === undefined) return undefined
  const at = Date.parse(since)
  if (Number.isNaN(at))
    throw new GatewayError('invalid_request', 'since is not a time; use a format such as 2026-11-20T08:00:00Z.')
  return at
}

/** The schema of a time: ISO 8601, UTC. */
export const Time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) })
export const iso = (at: number): string => new Date(at).toISOString()

export const Done = Type.Object({ ok: Type.Literal(true) })

export const IdParams = Type.Object({ id: Type.String() })
export type IdParams = Static<typeof IdParams>
