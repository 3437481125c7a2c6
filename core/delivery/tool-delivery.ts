// Sends messages on behalf of tools: resolves the recipient and stores the message in the outbox.
import { basename } from 'node:path'
import {
  type Channel,
  type DeliveryReceipt,
  type DeliveryRequest,
  type DeliveryTarget,
  InputError,
  type Workspace,
} from '../plugin/plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { AcceptCommand, AcceptResult, DeliveryFile, NewRoute } from '../store/store.ts'
import { mediaTypeOf } from '../kit/media-type.ts'
import type { Recipients } from './recipient.ts'
import type { ReplyRoutes } from './reply-routes.ts'

export interface ToolDelivery {
  /** Resolves when the message is stored. Throws `InputError` if it cannot be sent. */
  send(request: DeliveryRequest, sender: Sender & { workspace: Workspace }): Promise<DeliveryReceipt>
  /** Resolves where a request of this sender would go now. Throws `InputError` if it has no recipient. */
  resolve(target: DeliveryTarget, sender: Sender): Promise<NewRoute>
  /** Whether a message would go to the recipient of the run's reply. */
  isReplyRoute(target: DeliveryTarget, sender: Sender, run: ReplyRun): Promise<boolean>
}

export interface ReplyRun {
  /** Recipient of the reply; null: there is none. */
  reply: Recipient | null
  /** True: the run answers the session, so the session's last route counts as well. */
  answersSession: boolean
}

export interface Sender {
  sessionKey: string
  /** The run that sends it. Absent: a client over HTTP. */
  runId?: string | undefined
  /** The channel and account that the client names in headers. */
  channel?: string | undefined
  accountId?: string | undefined
  /** True: a stranger started the run. It learns no recipient of the main session. */
  isStranger?: boolean | undefined
}

interface ToolDeliveryDeps {
  routes: Pick<ReplyRoutes, 'find'>
  recipients: Pick<Recipients, 'resolve' | 'channelName'>
  channels: ReadonlyMap<string, Pick<Channel, 'limits'>>
  accept(command: AcceptCommand): Promise<AcceptResult>
  onDeliveries: () => void
  createId: () => string
}

/** Maximum length of a message, in characters. */
const maxTextLength = 100_000

export function createToolDelivery(deps: ToolDeliveryDeps): ToolDelivery {
  const { routes, recipients, accept, onDeliveries, createId } = deps
  const resolve: ToolDelivery['resolve'] = async (target, sender) => {
    const found = await recipients.resolve(await findRecipient(target, sender))
    if ('address' in found) return found.address
    throw new InputError(found.reason)
  }

  /** With the channel's name instead of an alias. */
  const withName = <Named extends { channel?: string | undefined }>(named: Named): Named =>
    named.channel === undefined ? named : { ...named, channel: recipients.channelName(named.channel) }

  /** The session's own last route takes precedence. `last` means the last route of the main session. */
  const findRecipient = async (target: DeliveryTarget, sender: Sender): Promise<Recipient> => {
    const { to, accountId, channel, threadId } = applyHeaders(withName(target), withName(sender))
    const wanted = { channel, to: to?.trim() }
    const own = channel === 'last' ? undefined : (await routes.find(sender.sessionKey, wanted)).route
    const isOther = accountId !== undefined && accountId !== own?.accountId
    if (!own || isOther || (wanted.to !== undefined && wanted.to !== own.to)) {
      const recipient = { channel: channel ?? own?.channel ?? 'last', to: wanted.to, accountId, threadId }
      if (sender.isStranger && (to === undefined || recipient.channel === 'last'))
        throw new InputError('This work comes from a stranger, so it has no other recipient; name channel and to.')
      return recipient
    }
    return {
      channel: own.channel,
      to: own.to,
      accountId: accountId ?? own.accountId,
      threadId: threadId ?? own.threadId ?? undefined,
      route: own.route,
    }
  }

  return {
    resolve,
    isReplyRoute: async (target, sender, { reply, answersSession }) => {
      const address = await resolve(target, sender)
      const [ofReply, ofSession] = await Promise.all([
        reply && recipients.resolve(reply),
        answersSession ? routes.find(sender.sessionKey, { channel: address.channel }) : undefined,
      ])
      return [ofReply && 'address' in ofReply ? ofReply.address : undefined, ofSession?.route].some(
        (own) => own && isSameRecipient(own, address),
      )
    },
    send: async ({ text, file: path, ...target }, { workspace, ...sender }) => {
      if (text.trim() === '' && path === undefined) throw new InputError('text is blank.')
      if (text.length > maxTextLength) throw new InputError(`text may have at most ${maxTextLength} characters.`)
      const address = await resolve(target, sender)
      const { limits } = deps.channels.get(address.channel) ?? {}
      const file = path === undefined ? null : await checkFile(path, { workspace, limits, channel: address.channel })
      const id = createId()
      await accept({
        at: Date.now(),
        deliveries: [{ id, runId: sender.runId ?? '', text, file, ...address, status: 'pending', reason: null }],
      })
      onDeliveries()
      return { id, channel: address.channel, to: address.to }
    },
  }
}

function applyHeaders(target: DeliveryTarget, { channel, accountId }: Sender): DeliveryTarget {
  const named = target.channel?.trim()
  if (channel === undefined || (named !== undefined && named !== channel)) return { ...target, channel: named }
  return { ...target, channel, accountId: target.accountId ?? accountId }
}

interface Attachable {
  workspace: Workspace
  channel: string
  limits: Channel['limits'] | undefined
}

/** Checks a file now, so that the caller hears of a mistake. It is read when the message is sent. */
async function checkFile(path: string, { workspace, channel, limits }: Attachable): Promise<DeliveryFile> {
  const maxBytes = limits?.maxFileBytes
  if (maxBytes === undefined) throw new InputError(`The channel "${channel}" sends no files.`)
  const { size } = await workspace.read(path, { maxBytes: 0 })
  if (size > maxBytes)
    throw new InputError(`The file has ${size} bytes; the channel "${channel}" sends at most ${maxBytes}.`)
  // Control characters could break the headers in which platforms expect the name.
  const name = basename(path)
    .replaceAll(/\p{Cc}/gu, '_')
    .toWellFormed()
  return { folder: await workspace.path(), path, name, type: mediaTypeOf(name) }
}

/** Ignores the thread, because the same people read all threads of a recipient. */
const isSameRecipient = (one: Omit<NewRoute, 'route'>, other: NewRoute): boolean =>
  one.channel === other.channel && one.accountId === other.accountId && one.to === other.to
