// What a run is called.
import type { Item } from '../api/client.ts'

/** The name of a run, or what started it. */
export const titleOf = ({ name, origin }: Pick<Item<'GET /api/runs'>, 'name' | 'origin'>): string =>
  name ?? (origin.name === origin.kind ? origin.kind : `${origin.kind} ${origin.name}`)
