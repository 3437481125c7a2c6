// Sends messages and files, and shows that the agent is typing.
import { createHash } from 'node:crypto'
import { createCache } from 'svc-gateway/kit'
import { AuthError, type ChannelContext, type Connection, type MessageChoice } from 'svc-gateway/plugin'
import { type DiscordApi, failureOf, refusedToken, resultOfFailure } from './failure.ts'
import { isId } from './messages.ts'
import type { Progress } from './progress.ts'

interface SenderDeps {
  api: DiscordApi
  progress: Pick<Progress, 'begun'>
  context: Pick<ChannelContext, 'log' | 'lost'>
}

type Sender = Required<Pick<Connection, 'send' | 'removeChoices' | 'typing'>>

export function createSender({ api, progress, context }: SenderDeps): Sender {
  /** The channels in which the bot and a user write to each other. Discord limits how often it can be asked for one. */
  const directChannels = createCache(async (user) => (await api.users.createDM(user)).id)
  const findChannel = async (to: string): Promise<string> =>
    to.startsWith('user:') ? await directChannels.get(to.slice('user:'.length)) : to

  return {
    async send({ key, to, text, threadId, file, choices }) {
      if (threadId !== undefined && !isId(threadId))
        return { outcome: 'failed', reason: 'permanent', detail: 'The threadId must be the id of a Discord thread.' }
      try {
        const channelId = threadId ?? (await findChannel(to))
        const { id } = await api.channels.createMessage(channelId, {
          ...(text !== '' && { content: text }),
          ...(choices && { components: [buttonsOf(choices)] }),
          ...(file && { files: [{ name: file.name, contentType: file.type, data: file.data }] }),
          nonce: nonceOf(key),
          enforce_nonce: true,
          // Agents quote what others wrote. It must not notify everyone.
          allowed_mentions: { parse: [] },
          flags: withoutPreviews,
        })
        await progress.begun(channelId, id).catch(() => context.log.debug({}, 'a conversation could not be stored'))
        return { outcome: 'sent', id }
      } catch (error) {
        if (failureOf(error).status === 401) context.lost(new AuthError(refusedToken))
        return resultOfFailure(error)
      }
    },
    async removeChoices({ id, to, threadId }) {
      await api.channels.editMessage(threadId ?? (await findChannel(to)), id, { components: [] })
    },
    /** Discord hides it after ten seconds or with the next message. `route` is the thread, if there is one. */
    async typing(to, on, route) {
      if (on) await api.channels.showTyping(isId(route) ? route : await findChannel(to))
    },
  }
}

/** A row of buttons. Discord accepts 100 characters as the id of a button. */
const buttonsOf = (choices: readonly MessageChoice[]) => ({
  type: rowType,
  components: choices.map(({ label, text }) => ({ type: buttonType, style: grayStyle, label, custom_id: text })),
})

/** Constants of the API. A value of the library would have to be imported with it. */
const [rowType, buttonType, grayStyle] = [1, 2, 2] as const

/** For a preview, Discord would fetch an address that the agent wrote, before anybody has opened it. */
const withoutPreviews = 1 << 2

/** Discord accepts 25 characters, and drops a message whose nonce it knows. */
const nonceOf = (key: string): string => createHash('sha256').update(key).digest('base64url').slice(0, 25)
