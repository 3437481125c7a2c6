// The Mattermost channel: receives messages over a WebSocket, and sends text and files through the REST API.
import { AuthError, defineChannel, type Static, Type } from 'svc-gateway/plugin'
import { connectError, connectStatusError } from 'svc-gateway/kit'
import { createApi, StatusError } from './api.ts'
import { createDirectory } from './directory.ts'
import { createReader } from './inbound.ts'
import { receivePosts } from './receive.ts'
import { createSender } from './send.ts'
import { openSocket } from './socket.ts'

const Config = Type.Object({
  botToken: Type.String({ secret: true, pattern: String.raw`\S`, description: 'The access token of the bot account.' }),
  baseUrl: Type.String({
    pattern: '^https?://',
    description: 'The address of the server, such as `https://chat.example.com`.',
  }),
})

const idPattern = '^[a-z0-9]{26}$'

interface Self {
  id: string
  username: string
}

export default defineChannel<Static<typeof Config>>({
  name: 'mattermost',
  description: 'Messages on a Mattermost server, through a bot account.',
  config: Config,
  target: Type.String({
    pattern: '^(?:[a-z0-9]{26}|@[a-z0-9._-]+)$',
    description: 'The id of a channel, 26 letters and digits, or a person as `@username`.',
  }),
  sender: Type.String({
    pattern: idPattern,
    description: 'the id of a person, 26 letters and digits, not the username',
  }),
  group: Type.String({ pattern: idPattern, description: 'the id of a channel, 26 letters and digits, not its name' }),
  limits: {
    maxText: 16_383,
    unit: 'codepoints',
    format: 'markdown',
    idempotency: 'reconcile',
    maxFileBytes: 100 * 1024 * 1024,
  },

  async connect({ botToken, baseUrl }, context) {
    const api = createApi({ baseUrl, botToken })
    const { self, serverTime } = await signIn(api, baseUrl)
    const teams = await api.get<unknown[]>('users/me/teams').catch(() => undefined)
    if (teams?.length === 0) context.log.warn({}, noTeam)
    const directory = createDirectory(api, self.id)
    const posts = receivePosts({
      api,
      context,
      serverTime,
      directory,
      read: createReader({ api, directory, self }),
    })
    const socket = await openSocket({ url: api.socketUrl, botToken, context, onPost: posts.onPost })
    posts.start()
    return {
      ...createSender({ api, directory, botUserId: self.id }),
      async typing(to, on) {
        if (on) socket.showTyping(await directory.channelOf(to))
      },
      async close() {
        socket.close()
        await posts.close()
      },
    }
  },
})

const noTeam = 'the bot is in no team, so it reads and writes in no channel; add it to a team and to its channels'

/** The time of the server is where a new account starts to read. */
async function signIn(api: ReturnType<typeof createApi>, baseUrl: string): Promise<{ self: Self; serverTime: number }> {
  const service = { name: 'Mattermost', url: baseUrl, setting: 'baseUrl' }
  try {
    const response = await api.request('users/me')
    const serverTime = Date.parse(response.headers.get('date') ?? '') || Date.now()
    return { self: (await response.json()) as Self, serverTime }
  } catch (error) {
    if (error instanceof StatusError && error.status === 401)
      throw new AuthError('Mattermost refuses the access token. Create a new one for the bot, and set botToken.')
    throw error instanceof StatusError ? connectStatusError(error, service) : connectError(error, service)
  }
}
