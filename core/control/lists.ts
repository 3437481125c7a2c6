// How every list of the control API is asked for and answered: newest first, page by page.
import type { Page, PageRequest } from '../store/store.ts'
import { type Static, type TSchema, Type } from '../typebox.ts'

const usualLimit = 50

/** What a list takes in its query; `usual`: the limit where none is given. */
export const pageQueryOf = (usual: number) => ({
  cursor: Type.Optional(
    Type.String({ pattern: String.raw`^\d{1,15}$`, description: 'The `next` of the page before.' }),
  ),
  limit: Type.Optional(
    Type.String({
      pattern: '^([1-9][0-9]?|1[0-9][0-9]|200)$',
      description: `Most items of the page: 1 to 200, ${usual} if left out.`,
    }),
  ),
})

/** The same for most lists. */
export const pageQuery = pageQueryOf(usualLimit)

export const pageOf = <Item extends TSchema>(item: Item) =>
  Type.Object({
    items: Type.Array(item),
    next: Type.Optional(
      Type.String({
        description:
          'The `cursor` of the next page; absent at the end. A page may be short, or empty, and still have one.',
      }),
    ),
  })

export const limitOf = ({ limit }: { limit?: string | undefined }, usual = usualLimit): number => Number(limit ?? usual)

export function pageRequest(
  query: { cursor?: string | undefined; limit?: string | undefined },
  usual = usualLimit,
): PageRequest {
  return { before: query.cursor === undefined ? undefined : Number(query.cursor), limit: limitOf(query, usual) }
}

export function viewPage<Row, View>(
  { items, next }: Page<Row>,
  view: (row: Row) => View,
): { items: View[]; next?: string } {
  return { items: items.map(view), ...(next !== undefined && { next: String(next) }) }
}

/** Times are ISO 8601, UTC. */
export const Time = (description?: string) =>
  Type.String({ format: 'date-time', ...(description !== undefined && { description }) })
export const iso = (at: number): string => new Date(at).toISOString()

export const IdParams = Type.Object({ id: Type.String() })
export type IdParams = Static<typeof IdParams>
