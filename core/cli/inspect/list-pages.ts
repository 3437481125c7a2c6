// Lists of the control API, page by page.
import type { Control } from '../control-client.ts'

type Query = Readonly<Record<string, string | undefined>>

/** Pages are requested as they are needed. Parameters without a value are left out. */
export async function* listPages<Item>(control: Control, path: string, query: Query = {}): AsyncGenerator<Item> {
  const parameters = new URLSearchParams({ limit: '200' })
  for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value)
  for (;;) {
    const { items, next } = (await control.get(`${path}?${parameters.toString()}`)) as { items: Item[]; next?: string }
    yield* items
    if (next === undefined) return
    parameters.set('cursor', next)
  }
}
