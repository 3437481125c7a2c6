// Looks up people and conversations in Slack, and remembers them while the account is connected.
import type { WebClient } from '@slack/web-api'
import { createCache, withDeadline } from 'svc-gateway/kit'
import type { SlackFile } from './files.ts'

export interface Directory {
  /** What Slack knows of a file. Undefined if it does not tell, for example because the file is not shared here. */
  fileOf(id: string): Promise<SlackFile | undefined>
  /** The display name of a person. Undefined if Slack does not tell, for example without the scope `users:read`. */
  nameOf(user: string): Promise<string | undefined>
  /** Whether a conversation is a group of direct messages; a channel, if Slack does not tell. */
  isGroup(conversation: string): Promise<boolean>
  /** The message with the id `<conversation>:<ts>`. Undefined if Slack does not give it, or not soon. */
  findMessage(id: string): Promise<object | undefined>
  /** The conversation to post to: for the id of a person, the direct messages with them. */
  conversationOf(to: string): Promise<string>
}

/** How long a message waits for what it quotes. */
const findMs = 5000

export function createDirectory(web: WebClient): Directory {
  const names = createCache(async (user) => {
    const { user: found } = await web.users.info({ user })
    return [found?.profile?.display_name, found?.real_name, found?.name].find((name) => name?.trim())
  })
  const groups = createCache(async (channel) => {
    const { channel: found } = await web.conversations.info({ channel })
    return found?.is_mpim === true
  })
  // The first message of a thread comes first.
  const messages = createCache(async (id) => {
    const [channel = '', ts = ''] = id.split(':')
    return (await web.conversations.replies({ channel, ts, limit: 1 })).messages?.find((message) => message.ts === ts)
  })
  const direct = createCache(async (users) => {
    const { channel } = await web.conversations.open({ users })
    if (!channel?.id) throw new Error('Slack opened no conversation.')
    return channel.id
  })
  return {
    fileOf: async (file) => (await web.files.info({ file }).catch(() => undefined))?.file,
    nameOf: (user) => names.get(user).catch(() => undefined),
    isGroup: (conversation) => groups.get(conversation).catch(() => false),
    findMessage: (id) =>
      withDeadline({ ms: findMs, reason: () => new Error('Slack has not answered.') }, () => messages.get(id)).catch(
        () => undefined,
      ),
    conversationOf: async (to) => (/^[UW]/.test(to) ? await direct.get(to) : to),
  }
}
