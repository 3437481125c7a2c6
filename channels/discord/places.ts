// Finds out where a message was written (to the bot alone, in a channel of a server, or in a thread of one), and which
// role the bot has there.
import { type DiscordApi, failureOf } from './failure.ts'
import { createCache, fieldsOf, listOf } from 'svc-gateway/kit'
import { isId } from './messages.ts'

export interface Place {
  /** Only the bot and the sender read it. */
  isDirect: boolean
  /** The server of the channel. */
  guildId?: string
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
  const { type, parent_id: parentId, guild_id: guildId } = fieldsOf(channel)
  return {
    isDirect: type === directType,
    ...(isId(guildId) && { guildId }),
    ...(threadTypes.has(type) && isId(parentId) && { parentId }),
  }
}

/** A server gives a bot a role of its own, with its name, which people mention in its place. */
export function createRoles(api: DiscordApi, { botId, signal }: { botId: string; signal: AbortSignal }) {
  return createCache(async (guildId): Promise<string | undefined> => {
    try {
      const roles: unknown = await api.guilds.getRoles(guildId, { signal })
      const own = listOf(roles)
        .map(fieldsOf)
        .find(({ tags }) => fieldsOf(tags)['bot_id'] === botId)
      return isId(own?.['id']) ? own['id'] : undefined
    } catch (error) {
      const { status } = failureOf(error)
      if (status === 403 || status === 404) return undefined
      throw error
    }
  }).get
}
