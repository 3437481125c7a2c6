// Pairing: a sender whom nobody knows gets a code, and may write to the agent once the operator has approved the code.
import { randomInt } from 'node:crypto'
import { GatewayError } from '../../errors.ts'
import type { InboundMessage, Json, Log } from '../../plugin/plugin.ts'
import { createSerialQueue } from '../../serial-queue.ts'
import type { AcceptCommand, AcceptResult, AccountRef, NewDelivery, Store } from '../../store/store.ts'

interface Sender {
  sender: string
  /** Display name. */
  name?: string
  /** When the code was sent, or when it was approved. */
  at: number
}

interface Pending extends Sender, Pick<NewDelivery, 'to' | 'threadId' | 'route'> {
  code: string
}

/** A message to a sender. */
type Notice = Pick<NewDelivery, 'to' | 'threadId' | 'route' | 'text'>

/** What is stored for each account. */
interface Pairings {
  pending: readonly Pending[]
  approved: readonly Sender[]
}

export interface PairingItem extends AccountRef, Sender {
  status: 'pending' | 'approved'
  /** Only while the sender waits. */
  code?: string
  expiresAt?: number
}

export interface Pairing {
  /** @param senders the ids of one sender */
  isApproved(account: AccountRef, senders: readonly string[]): Promise<boolean>
  /** Sends a code to the sender, unless one is valid already or too many senders are waiting. */
  request(account: AccountRef, message: InboundMessage): Promise<void>
  /** The senders that wait for approval on these accounts, and those that have it. */
  list(accounts: readonly AccountRef[]): Promise<PairingItem[]>
  /** Approves the sender with this code. Throws `pairing_not_found`. */
  approve(accounts: readonly AccountRef[], code: string): Promise<AccountRef & Sender>
  /** Withdraws the approval of a sender. Throws `pairing_not_found`. */
  revoke(account: AccountRef, sender: string): Promise<void>
}

interface PairingDeps {
  store: Pick<Store, 'getState' | 'setState'>
  accept(command: AcceptCommand): Promise<AcceptResult>
  /** Called when a message waits in the outbox. */
  onDeliveries: () => void
  createId: () => string
  /** Keeps codes out of the log. */
  hide(values: readonly string[]): void
  log: Log
}

const owner = 'pairing'

/** How long a code is valid. A sender gets no other code in this time. */
const codeMs = 60 * 60 * 1000
/** Most codes that are valid on one account, so that strangers cannot use the account to send many messages. */
const maxPending = 3
/** Longest display name that is stored. */
const longestName = 200

export function createPairing({ store, accept, onDeliveries, createId, hide, log }: PairingDeps): Pairing {
  // One change after the other, so that none is lost.
  const changes = createSerialQueue()

  const read = async (account: AccountRef): Promise<Pairings> => {
    const { pending = [], approved = [] } = ((await store.getState(owner, keyOf(account))) ?? {}) as Partial<Pairings>
    return { pending: pending.filter(({ at }) => at + codeMs > Date.now()), approved }
  }

  /** Stores the change together with a message to the sender. */
  const change = async (account: AccountRef, pairings: Pairings, { to, threadId, route, text }: Notice) => {
    const id = createId()
    await accept({
      at: Date.now(),
      deliveries: [{ ...account, id, runId: '', to, threadId, route, text, status: 'pending', reason: null }],
      state: { owner, key: keyOf(account), value: toJson(pairings) },
    })
    onDeliveries()
  }

  const request = async (account: AccountRef, { from, to, threadId, route }: InboundMessage) => {
    const { pending, approved } = await read(account)
    if (pending.length >= maxPending || pending.some(({ sender }) => isSame(sender, from.id))) return
    const name = from.name?.trim().slice(0, longestName).toWellFormed()
    const code = createCode()
    hide([code])
    const address = { to, threadId: threadId ?? null, route: route ?? null }
    const asked = { code, sender: from.id, ...(name && { name }), at: Date.now(), ...address }
    await change(account, { pending: [...pending, asked], approved }, { ...asked, text: describeCode(code) })
    log.info({ ...account, sender: from.id }, 'a new sender asks for approval; see "svc-gateway pairing list"')
  }

  const approve = async (account: AccountRef, code: string): Promise<(AccountRef & Sender) | undefined> => {
    const { pending, approved } = await read(account)
    const asked = pending.find((one) => one.code === code)
    if (!asked) return undefined
    const { sender, name } = asked
    const known = { sender, ...(name !== undefined && { name }), at: Date.now() }
    const others = pending.filter((one) => one !== asked)
    await change(account, { pending: others, approved: [...approved, known] }, { ...asked, text: approvedText })
    log.info({ ...account, sender }, 'a sender was approved')
    return { ...account, ...known }
  }

  return {
    isApproved: async (account, senders) => {
      const { approved } = await read(account)
      return senders.some((id) => approved.some(({ sender }) => isSame(sender, id)))
    },
    request: (account, message) => changes.add(() => request(account, message)),
    list: async (accounts) =>
      (await Promise.all(accounts.map(async (account) => listItems(account, await read(account))))).flat(),
    approve: (accounts, typed) =>
      changes.add(async () => {
        const code = typed.trim().toUpperCase()
        for (const account of accounts) {
          const approved = await approve(account, code)
          if (approved) return approved
        }
        throw new GatewayError('pairing_not_found')
      }),
    revoke: (account, sender) =>
      changes.add(async () => {
        const { pending, approved } = await read(account)
        const others = approved.filter((one) => !isSame(one.sender, sender))
        if (others.length === approved.length) throw new GatewayError('pairing_not_found')
        await store.setState(owner, keyOf(account), toJson({ pending, approved: others }))
        log.info({ ...account, sender }, 'the approval of a sender was withdrawn')
      }),
  }
}

const listItems = (account: AccountRef, { pending, approved }: Pairings): PairingItem[] => [
  ...pending.map(({ to: _to, threadId: _thread, route: _route, ...asked }) => ({
    status: 'pending' as const,
    ...account,
    ...asked,
    expiresAt: asked.at + codeMs,
  })),
  ...approved.map((known) => ({ status: 'approved' as const, ...account, ...known })),
]

const keyOf = ({ channel, accountId }: AccountRef): string => JSON.stringify([channel, accountId])

const isSame = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase()

const toJson = (pairings: Pairings): Json => pairings as unknown as Json

/** Without characters that are easily confused. */
const alphabet = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

const createCode = (): string => Array.from({ length: 8 }, () => alphabet[randomInt(alphabet.length)]).join('')

const describeCode = (code: string): string =>
  `I do not know you. Ask the operator to approve code ${code} within one hour.`

const approvedText = 'The operator has approved you. Write your message again, please.'
