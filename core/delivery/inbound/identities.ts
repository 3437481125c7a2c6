// Knows which ids belong to one person or one group. A platform may show a number today and another id tomorrow, and
// the conversation goes on under the id that was seen first.
import { createSerialQueue } from '../../serial-queue.ts'
import type { AccountRef, Store } from '../../store/store.ts'

type Kind = 'sender' | 'group'

export interface Identity {
  /** The id that was seen first. It names the session. */
  id: string
  /** All known ids, with `id`. */
  ids: readonly string[]
  /** Stores what is new. */
  keep(): Promise<void>
}

export interface Identities {
  /** @param ids of one message, all of the same person or group */
  find(account: AccountRef, kind: Kind, ids: readonly string[]): Promise<Identity>
  /** The platform has given a group another id. */
  moveGroup(account: AccountRef, from: string, to: string): Promise<void>
}

/** What is stored for each id. */
interface Stored {
  /** In the order in which they were seen. */
  ids: readonly string[]
  /** Names the session. Absent: the first id. */
  name?: string
  since: number
}

const owner = 'identity'

export function createIdentities({ store }: { store: Pick<Store, 'getState' | 'setState'> }): Identities {
  // One change after the other, so that none is lost.
  const changes = createSerialQueue()

  async function read(account: AccountRef, kind: Kind, ids: readonly string[]): Promise<Stored[]> {
    const found = await Promise.all(ids.map((id) => store.getState(owner, keyOf(account, kind, id))))
    const known = (found as unknown as (Stored | undefined)[]).filter((one) => one !== undefined)
    return [...new Map(known.map((one) => [JSON.stringify(one), one])).values()]
  }

  const planFor = async (account: AccountRef, kind: Kind, ids: readonly string[]): Promise<Plan> =>
    plan(await read(account, kind, ids), ids, Date.now())

  async function keep(account: AccountRef, kind: Kind, ids: readonly string[]): Promise<void> {
    const { changed } = await planFor(account, kind, ids)
    for (const record of changed)
      for (const id of record.ids) await store.setState(owner, keyOf(account, kind, id), { ...record })
  }

  return {
    async find(account, kind, ids) {
      const { current, changed } = await planFor(account, kind, ids)
      return {
        id: nameOf(current),
        ids: current.ids,
        keep: async () => void (changed.length > 0 && (await changes.add(() => keep(account, kind, ids)))),
      }
    },
    moveGroup: (account, from, to) => changes.add(() => keep(account, 'group', [from, to])),
  }
}

interface Plan {
  current: Stored
  /** The records to store. */
  changed: readonly Stored[]
}

const nameOf = ({ name, ids }: Stored): string => name ?? ids[0] ?? ''

/**
 * Records belong together if a message names them as one, unless both sides have an id that the other lacks: a number
 * has then gone to somebody else, and takes neither the session nor the other ids of its former owner along.
 */
function plan(known: readonly Stored[], ids: readonly string[], now: number): Plan {
  const sorted = known.toSorted((a, b) => a.since - b.since)
  const [oldest] = sorted
  if (oldest && sorted.length === 1 && isWithin(ids, oldest.ids)) return { current: oldest, changed: [] }
  if (sorted.every((one) => isWithin(one.ids, ids))) {
    const joined = [...new Set([...sorted.flatMap((one) => one.ids), ...ids])]
    const current = { ...oldest, ids: joined, since: oldest?.since ?? now }
    return { current, changed: [current] }
  }
  const left = sorted.map((one) => without(one, ids))
  const current = { ids, name: nameAfterSplit(sorted, ids), since: now }
  return { current, changed: [...left, current] }
}

/** A name that is an id goes with it. */
function without({ ids, name, since }: Stored, gone: readonly string[]): Stored {
  const isMade = name !== undefined && !includes(ids, name)
  return { ids: ids.filter((id) => !includes(gone, id)), ...(isMade && { name }), since }
}

/** Any id that somebody else had may name that person's session. */
function nameAfterSplit(known: readonly Stored[], ids: readonly string[]): string {
  const own = known.find((one) => isWithin(one.ids, ids))
  const fresh = ids.find((id) => !known.some((one) => includes(one.ids, id)))
  return own ? nameOf(own) : (fresh ?? ids.join('+'))
}

const isWithin = (some: readonly string[], others: readonly string[]): boolean =>
  some.every((id) => includes(others, id))

const includes = (ids: readonly string[], id: string): boolean => ids.some((one) => normalize(one) === normalize(id))

const normalize = (id: string): string => id.trim().toLowerCase()

const keyOf = ({ channel, accountId }: AccountRef, kind: Kind, id: string): string =>
  JSON.stringify([channel, accountId, kind, normalize(id)])
