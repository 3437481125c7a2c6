// Finds out where a message was written: to the bot alone, in a channel of a server, or in a thread of one.
import { type DiscordApi, failureOf } from './failure.ts'
import { createCache, fieldsOf } from 'svc-gateway/kit'
import { isId } from './messages.ts'

export interface Place {
  /** Only the bot and the sender read it. */
  isDirect: boolean
  /** The channel to which the thread belongs. Absent: it is not a thread. */
  parentId?: string
}

const directType = 1
const threadTypes: ReadonlySet<unknown> = new Set([10, 11, 12])

/** Messages hold only the id of their channel, so each channel is asked for once. */
export function createPlaces(api: DiscordApi, signal: AbortSignal): (channelId: string) => Promise<Place> {
  return createCache(fetchPlace).get

  async function fetchPlace(channelId: string): Promise<Place> {
    try {
      return readPlace(await api.channels.get(channelId, { signal }))
    } catch (error) {
      const { status } = failureOf(error)
      // Several people may read a channel that the bot cannot ask for.
      if (status === 403 || status === 404) return { isDirect: false }
      throw error
    }
  }
}

function readPlace(channel: unknown): Place {
  const { type, parent_id: parentId } = fieldsOf(channel)
  return { isDirect: type === directType, ...(threadTypes.has(type) && isId(parentId) && { parentId }) }
}
