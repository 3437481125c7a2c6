// Looks up people, channels and threads, and remembers them while the account is connected.
import { createCache } from 'svc-gateway/kit'
import { type Api, isFinal } from './api.ts'

interface User {
  id: string
  username: string
  nickname?: string
  first_name?: string
  last_name?: string
  is_bot?: boolean
}

interface Person {
  name: string | undefined
  isBot: boolean
}

export interface Directory {
  personOf(userId: string): Promise<Person>
  /** `D` direct messages, `G` a group of direct messages, `O` and `P` channels. */
  typeOf(channelId: string): Promise<string>
  /** Saves looking up the type of a channel. */
  noteType(channelId: string, type: string): void
  /** The first message of a thread. */
  rootOf(rootId: string): Promise<object | undefined>
  /** The channel to post to: for `@username`, the direct messages with that person. */
  channelOf(to: string): Promise<string>
}

export function createDirectory(api: Api, botUserId: string): Directory {
  const people = createCache(async (id): Promise<Person> => {
    const user = await api.get<User>(`users/${id}`)
    const full = `${user.first_name ?? ''} ${user.last_name ?? ''}`
    const name = [user.nickname, full, user.username].find((one) => one?.trim())?.trim()
    return { name, isBot: user.is_bot === true }
  })
  const types = createCache(async (id) => (await api.get<{ type: string }>(`channels/${id}`)).type)
  const roots = createCache(async (id) => await api.get<object>(`posts/${id}`))
  const direct = createCache(async (username) => {
    const { id } = await api.get<User>(`users/username/${encodeURIComponent(username)}`)
    return (await api.post<{ id: string }>('channels/direct', [botUserId, id])).id
  })
  return {
    personOf: (userId) => orElse(people.get(userId), { name: undefined, isBot: false }),
    typeOf: (channelId) => orElse(types.get(channelId), 'O'),
    noteType: types.set,
    rootOf: (rootId) => orElse(roots.get(rootId), undefined),
    channelOf: async (to) => (to.startsWith('@') ? await direct.get(to.slice(1)) : to),
  }
}

/** What the server does not tell this account has a default; anything else is asked again later. */
async function orElse<Value>(found: Promise<Value>, fallback: Value): Promise<Value> {
  return await found.catch((error: unknown) => {
    if (isFinal(error)) return fallback
    throw error
  })
}
