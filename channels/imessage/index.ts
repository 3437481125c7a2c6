// The iMessage channel: sends and receives through imsg, which uses the Messages app of a Mac.
import { type ChannelContext, defineChannel, type InboundMessage, type Static, Type } from 'svc-gateway/plugin'
import { countOf, fieldsOf, listOf } from 'svc-gateway/kit'
import { createReader, normalizeId, type Row } from './inbound.ts'
import { type Imsg, ImsgError, startImsg } from './imsg.ts'
import { isOwnMessage, recipientOf, reconcile, sendMessage } from './send.ts'
import { openSentLog } from './sent-log.ts'

const defaultPath = 'imsg'

const Config = Type.Object({
  cliPath: Type.String({
    default: defaultPath,
    pattern: String.raw`\S`,
    description: 'The program to run: `imsg`, its full path, or a script that runs it on another Mac.',
  }),
})

/** How many received messages may wait for the disk. imsg has to send those beyond it again. */
const mostWaiting = 1_000

export default defineChannel<Static<typeof Config>>({
  name: 'imessage',
  aliases: ['imsg'],
  description: 'Sends and receives iMessages through imsg on a Mac.',
  config: Config,
  target: Type.String({
    pattern: String.raw`^(?:\+?\d{3,15}|[^\s@;]+@[^\s@;]+|[^\s;]+;[+-];\S+)$`,
    description:
      'A phone number such as +15551112222, an email address, or the id of a conversation such as iMessage;+;chat123.',
  }),
  sender: Type.String({
    pattern: String.raw`^(?:\+?\d{3,15}|[^\s@;]+@[^\s@;]+)$`,
    description: 'a phone number such as +15551112222, or an email address',
  }),
  group: Type.String({
    pattern: String.raw`^[^\s;]+;[+-];\S+$`,
    description: 'the id of a group such as iMessage;+;chat123, which is its guid in `imsg chats --json`',
  }),
  normalizeId,
  limits: { maxText: 4_000, format: 'plain', idempotency: 'reconcile', maxFileBytes: 100_000_000 },

  async connect({ cliPath }, context) {
    if (cliPath === defaultPath && process.platform !== 'darwin')
      throw new Error(
        'iMessage works only on a Mac. Set cliPath to a script that runs imsg there, for example with ssh.',
      )
    const stop = new AbortController()
    const signal = AbortSignal.any([context.signal, stop.signal])
    const imsg = await startImsg(cliPath, context.log)
    const inbox = createInbox(imsg, context, signal)
    imsg.listen(inbox.accept)
    async function close(): Promise<void> {
      stop.abort()
      await Promise.all([imsg.close(), inbox.emptied()])
    }
    try {
      const { hasBridge, canTrack } = await readStatus(imsg)
      await inbox.watch()
      void imsg.ended.then((reason) => signal.aborted || context.lost(reason))
      const onBlocked = () => context.lost('an earlier message blocks imsg')
      const sender = { imsg, sentLog: await openSentLog(context.state), canTrack, onBlocked }
      return {
        send: (message) => sendMessage(sender, message),
        reconcile: ({ key }) => reconcile(sender, key),
        // Without the bridge, imsg would open the Messages app to show it.
        ...(hasBridge && { typing: (to: string, on: boolean) => showTyping(imsg, to, on) }),
        close,
      }
    } catch (error) {
      await close()
      throw error
    }
  },
})

const showTyping = async (imsg: Imsg, to: string, on: boolean): Promise<void> =>
  void (await imsg.call('typing', { ...recipientOf(to), typing: on }))

/** The bridge is a part of imsg that runs inside the Messages app. */
async function readStatus(imsg: Imsg): Promise<{ hasBridge: boolean; canTrack: boolean }> {
  const { database, bridge, methods } = await imsg.call('status', {}).catch((error: unknown) => {
    throw error instanceof ImsgError ? new Error('imsg is too old. Install version 0.15 or newer.') : error
  })
  if (fieldsOf(database)['ready'] !== true)
    throw new Error('imsg cannot read the database of Messages. Give Full Disk Access to the program that starts it.')
  return { hasBridge: fieldsOf(bridge)['ready'] === true, canTrack: listOf(methods).includes('send.tracked') }
}

const cursorKey = 'rowid'

/** Takes one message after the other, so that their order is kept. */
function createInbox(imsg: Imsg, context: ChannelContext, signal: AbortSignal) {
  const read = createReader(context.log)
  let waiting = 0
  let isBehind = false
  let subscription: unknown
  let last: Promise<void> = Promise.resolve()

  /** Continues after the last stored message. The first time, it begins with what arrives from now on. */
  async function watch(): Promise<void> {
    let cursor = countOf(await context.state.get(cursorKey))
    if (cursor === undefined) {
      cursor = await findNewestRow(imsg)
      await context.state.set(cursorKey, cursor)
    }
    // Zero would mean the newest row, whatever it is by now; -1 means all rows.
    const params = { attachments: true, since_rowid: cursor || -1 }
    ;({ subscription } = await imsg.call('watch.subscribe', params))
  }

  /** Everything that was not dropped is stored. After the answer, imsg sends nothing for the old subscription. */
  async function catchUp(): Promise<void> {
    await imsg.call('watch.unsubscribe', { subscription })
    isBehind = false
    await watch()
  }

  function add(row: Row): void {
    waiting++
    // After a failure nothing more is stored: the cursor must not advance past a message that is not.
    last = last
      .then(() => storeRow(row, { imsg, context, signal }))
      .then(() => (--waiting === 0 && isBehind ? catchUp() : undefined))
    last.catch((error: unknown) => signal.aborted || context.lost(reasonOf(error)))
  }

  return {
    watch,
    accept(method: string, params: unknown): void {
      // The subscription has ended. A new one continues after the last stored message.
      if (method === 'watch.overflow' || method === 'error') return context.lost('imsg stopped watching for messages')
      isBehind ||= waiting >= mostWaiting
      const row = method === 'message' && !isBehind ? read(params) : undefined
      if (row) add(row)
    },
    emptied: () => last.catch(() => undefined),
  }
}

/** imsg does not tell the number of the newest row, but whether there are rows after a number. */
async function findNewestRow(imsg: Imsg): Promise<number> {
  const hasRowsAfter = async (number: number): Promise<boolean> =>
    listOf((await imsg.call('messages.after', { since_rowid: number, limit: 1 }))['messages']).length > 0
  let [low, high] = [-1, 0]
  while (await hasRowsAfter(high)) [low, high] = [high, high * 2 + 1]
  // There are rows after `low`, and none after `high`.
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    if (await hasRowsAfter(middle)) low = middle
    else high = middle
  }
  return high
}

const reasonOf = (error: unknown): string => (error instanceof Error ? error.message : 'a message could not be read')

/** Only when the message is stored does the cursor advance. */
async function storeRow(
  { message, cursor }: Row,
  { imsg, context, signal }: { imsg: Imsg; context: ChannelContext; signal: AbortSignal },
): Promise<void> {
  const received = message && (await findOwnQuote(message, imsg))
  signal.throwIfAborted()
  if (received) await context.receive(received)
  await context.state.set(cursorKey, cursor)
}

/**
 * Messages does not tell who is mentioned, but a reply to a message of the account is meant for it. Otherwise, it stays
 * open, so that the gateway looks for the name of the agent, and for the quoted message among those that it has sent.
 */
async function findOwnQuote(message: InboundMessage, imsg: Imsg): Promise<InboundMessage> {
  const { quoted, group } = message
  if (quoted?.id === undefined || !(await isOwnMessage(imsg, quoted.id))) return message
  const { from: _, ...own } = quoted
  return { ...message, quoted: { ...own, isOwn: true }, ...(group && { mentioned: true }) }
}
