// Every built-in channel for a platform, with its double, for what must be true of all of them in a real process.
import { setImmediate } from 'node:timers/promises'
import type { Json, PlatformRequest, PlatformResponse } from '../../core/plugin/plugin.ts'
import { silent } from '../store/acknowledging.ts'
import { openStore } from '../store/open-store.ts'
import { channelId, directId, openDiscord, threadId } from './discord.ts'
import { openImessage } from './imessage.ts'
import { ids as mattermostIds, startMattermost } from './mattermost.ts'
import { actionsOf, deliver, openTeams } from './msteams.ts'
import { openSignal } from './signal.ts'
import { startSlack } from './slack.ts'
import { openTelegram } from './telegram.ts'
import { linkAccount } from './whatsapp-account.ts'
import { openWhatsappCloud } from './whatsapp-cloud.ts'
import { openWhatsapp } from './whatsapp.ts'

export interface ChannelDouble {
  /** The name of the channel. */
  name: string
  /** The settings of the channel that connect it to the double. */
  settings: object
  /** Recipients that exist. */
  recipients: string[]
  /** Every text that the platform accepted. */
  texts(): Promise<string[]>
  /** What the buttons of the latest message that has some say and submit, if the platform has buttons. */
  buttons?(): Promise<[label: string, text: string][]>
  /** Resolves when the platform has accepted this many messages. */
  accepted(count: number): Promise<unknown>
  /** Somebody writes a message. A platform that sends requests repeats each until it is answered with 200. */
  say(text: string, request: RequestGateway): Promise<unknown>
  /** Somebody writes a message with two files, which the platform reports one after the other. */
  sayInParts?(text: string): Promise<unknown>
  /** Options for the `node` that runs the gateway. */
  nodeOptions?: string[]
  /** Writes what the gateway must know of the account before its start. */
  prepare?(dir: string): Promise<void>
  close(): Promise<void>
}

/** Sends a request to the channel's address at the gateway. */
type RequestGateway = (request: PlatformRequest) => Promise<PlatformResponse>

/** How many recipients there are where a double accepts any. */
const anyRecipients = 20
const recipientsOf = (name: (index: number) => string) => Array.from({ length: anyRecipients }, (_, n) => name(n))
const phoneNumbers = recipientsOf((index) => `+1555222${1000 + index}`)

export const channelDoubles: Readonly<Record<string, () => Promise<ChannelDouble>>> = {
  async telegram() {
    const { config: settings, called, messages, push, sent, close } = await openTelegram()
    return {
      name: 'telegram',
      settings,
      recipients: recipientsOf((index) => String(1000 + index)),
      texts: async () => textsOf(await messages()),
      buttons: async () => latest(sent).map(({ text, callback_data: data }) => [text, data]),
      accepted: (count) => called('sendMessage', count),
      say: async (text) => push({ text }),
      async sayInParts(text) {
        push({ media_group_id: text, document: { file_id: 'missing' } })
        // Messages of others come in between.
        await setImmediate()
        push({ media_group_id: text, document: { file_id: 'missing' }, caption: text })
      },
      close,
    }
  },
  async discord() {
    const { config: settings, holds, messages, say, sent, close } = await openDiscord()
    const recipients = [directId, channelId, threadId]
    return {
      name: 'discord',
      settings,
      recipients,
      texts: async () => textsOf(await messages()),
      buttons: async () => latest(sent).map(({ label, custom_id: id }) => [label, id]),
      accepted: holds,
      say: (text) => say(text),
      close,
    }
  },
  async slack() {
    const { config: settings, posts, until, say, close } = await startSlack()
    return {
      name: 'slack',
      settings,
      recipients: recipientsOf((index) => `C0ROOM${index}`),
      texts: async () => textsOf(posts),
      buttons: async () => latest(posts).map(({ text, value }) => [text.text, value]),
      accepted: (count) => until(() => posts.length >= count),
      say: (text) => say(text),
      close,
    }
  },
  async mattermost() {
    const { config: settings, sent, until, messages, say, close } = await startMattermost()
    return {
      name: 'mattermost',
      settings,
      recipients: [mattermostIds.room, mattermostIds.group, mattermostIds.direct],
      texts: async () => textsOf(await messages()),
      accepted: (count) => until(() => sent.length >= count),
      say: (text) => say(text),
      close,
    }
  },
  async signal() {
    const { config: settings, call, messages, say, close } = await openSignal({ hasIds: true })
    return {
      name: 'signal',
      settings,
      recipients: phoneNumbers,
      texts: async () => textsOf(await messages()),
      accepted: (count) => call('send', count - 1),
      say: (text) => say(text),
      close,
    }
  },
  async imessage() {
    const { config: settings, conversations, sends, messages, say, close } = await openImessage()
    for (const number of phoneNumbers) conversations.add(number)
    const texts = async () => textsOf(await messages())
    return {
      name: 'imessage',
      settings,
      recipients: phoneNumbers,
      texts,
      accepted: sends,
      say: (text) => say(text),
      close,
    }
  },
  async msteams() {
    const { config: settings, posted, until, activity, token, close } = await openTeams()
    return {
      name: 'msteams',
      settings,
      recipients: recipientsOf((index) => `a:conversation${index}`),
      texts: async () => posted.flatMap(({ text }) => text ?? []),
      buttons: async () =>
        latest(posted.map((activity) => ({ buttons: actionsOf(activity) }))).map(({ title, data }) => [
          title,
          (data as { choice: string }).choice,
        ]),
      accepted: (count) => until(() => posted.length >= count),
      async say(text, request) {
        const message = activity({ text })
        while ((await deliver(request, message, token())).status !== 200);
      },
      close,
    }
  },
  async 'whatsapp (Cloud API)'() {
    const { config: settings, messages, until, connect, say, close } = await openWhatsappCloud()
    return {
      name: 'whatsapp',
      settings,
      recipients: phoneNumbers,
      texts: async () => textsOf(messages),
      accepted: (count) => until(() => messages.length >= count),
      async say(text, request) {
        connect(request)
        await say(text)
      },
      close,
    }
  },
  async 'whatsapp (linked device)'() {
    const linked = await linkAccount()
    const { config: settings, root, received, until, say, close } = await openWhatsapp(linked.device)
    return {
      name: 'whatsapp',
      settings,
      recipients: phoneNumbers,
      texts: async () => textsOf(received),
      accepted: (count) => until(() => received.length >= count),
      say: (text) => say(text),
      nodeOptions: ['--import', trustDouble(root)],
      prepare: (dir) => storeState(dir, 'channel:whatsapp:default', linked.records),
      close,
    }
  },
}

const latest = <Button>(messages: readonly { buttons?: readonly Button[] }[]): readonly Button[] =>
  messages.findLast(({ buttons = [] }) => buttons.length > 0)?.buttons ?? []

const textsOf = (messages: readonly { text: string }[]): string[] => messages.map(({ text }) => text)

const trustDouble = (root: Uint8Array): string =>
  new URL(`../fixtures/whatsapp/trust-double.mjs?root=${Buffer.from(root).toString('base64url')}`, import.meta.url).href

async function storeState(dir: string, owner: string, records: ReadonlyMap<string, Json>): Promise<void> {
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: silent })
  await Promise.all([...records].map(([key, value]) => store.setState(owner, key, value)))
  await store.close()
}
