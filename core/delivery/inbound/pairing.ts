// Pairing: a sender whom nobody knows gets a code, and may write to the agent once the operator has approved the code.
import { GatewayError } from '../../errors.ts'
import type { InboundMessage, Json, Log } from '../../plugin/plugin.ts'
import { createSerialQueue } from '../../serial-queue.ts'
import type { AcceptCommand, AcceptResult, AccountRef, AuditedChange, NewDelivery, Store } from '../../store/store.ts'
import { createTypedCode } from '../../typed-code.ts'

interface Sender {
  sender: string
  /** Display name. */
  name?: string
  /** When the code was sent, or when it was approved. */
  at: number
}

interface Pending extends Sender, Pick<NewDelivery, 'to' | 'threadId' | 'route'> {
  code: string
  /** The code is void. The sender gets no other one in its time. */
  isDenied?: boolean
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

/** Describes the change of a sender for the audit log. */
type Change = (target: string) => AuditedChange

export interface Pairing {
  /** @param senders the ids of one sender */
  isApproved(account: AccountRef, senders: readonly string[]): Promise<boolean>
  /** The same from memory. Until the approvals of the account are read, everybody is. */
  isKnownAsApproved(account: AccountRef, senders: readonly string[]): boolean
  /** Sends a code to the sender, unless one is valid already or too many senders are waiting. */
  request(account: AccountRef, message: InboundMessage): Promise<void>
  /** The senders that wait for approval on these accounts, and those that have it. */
  list(accounts: readonly AccountRef[]): Promise<PairingItem[]>
  /** Approves the sender with this code. Throws `pairing_not_found`. */
  approve(accounts: readonly AccountRef[], code: string, change: Change): Promise<AccountRef & Sender>
  /** Withdraws the approval of a sender, or denies it to one that waits. Throws `pairing_not_found`. */
  revoke(account: AccountRef, sender: string, change: Change): Promise<void>
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

  /** The approvals of each account, as they were read or changed last. */
  const known = new Map<string, Pairings['approved']>()

  const read = async (account: AccountRef): Promise<Pairings> => {
    const { pending = [], approved = [] } = ((await store.getState(owner, keyOf(account))) ?? {}) as Partial<Pairings>
    known.set(keyOf(account), approved)
    return { pending: pending.filter(({ at }) => at + codeMs > Date.now()), approved }
  }

  /** Stores the change together with a message to the sender. */
  const save = async (
    account: AccountRef,
    { pairings, audit }: { pairings: Pairings; audit?: AuditedChange },
    { to, threadId, route, text }: Notice,
  ) => {
    const id = createId()
    await accept({
      at: Date.now(),
      deliveries: [{ ...account, id, runId: '', to, threadId, route, text, status: 'pending', reason: null }],
      state: { owner, key: keyOf(account), value: toJson(pairings) },
      audit,
    })
    onDeliveries()
  }

  const request = async (account: AccountRef, { from, to, threadId, route }: InboundMessage) => {
    const { pending, approved } = await read(account)
    if (pending.length >= maxPending || pending.some(({ sender }) => isSame(sender, from.id))) return
    const name = from.name?.trim().slice(0, longestName).toWellFormed()
    const code = createTypedCode()
    hide([code])
    const address = { to, threadId: threadId ?? null, route: route ?? null }
    const asked = { code, sender: from.id, ...(name && { name }), at: Date.now(), ...address }
    const pairings = { pending: [...pending, asked], approved }
    await save(account, { pairings }, { ...asked, text: describeCode(code) })
    log.info({ ...account, sender: from.id }, 'a new sender asks for approval; see "svc-gateway pairing list"')
  }

  const approve = async (
    account: AccountRef,
    code: string,
    change: Change,
  ): Promise<(AccountRef & Sender) | undefined> => {
    const { pending, approved } = await read(account)
    const asked = pending.find((one) => one.code === code && !one.isDenied)
    if (!asked) return undefined
    const { sender, name } = asked
    const accepted = { sender, ...(name !== undefined && { name }), at: Date.now() }
    const others = pending.filter((one) => one !== asked)
    const pairings = { pending: others, approved: [...approved, accepted] }
    await save(account, { pairings, audit: change(targetOf(account, sender)) }, { ...asked, text: approvedText })
    log.info({ ...account, sender }, 'a sender was approved')
    known.set(keyOf(account), pairings.approved)
    return { ...account, ...accepted }
  }

  return {
    isApproved: async (account, senders) => {
      const { approved } = await read(account)
      return isAmong(approved, senders)
    },
    isKnownAsApproved: (account, senders) => {
      const approved = known.get(keyOf(account))
      return !approved || isAmong(approved, senders)
    },
    request: (account, message) => changes.add(() => request(account, message)),
    list: async (accounts) =>
      (await Promise.all(accounts.map(async (account) => listItems(account, await read(account))))).flat(),
    approve: (accounts, typed, change) =>
      changes.add(async () => {
        const code = typed.trim().toUpperCase()
        for (const account of accounts) {
          const approved = await approve(account, code, change)
          if (approved) return approved
        }
        throw new GatewayError('pairing_not_found')
      }),
    revoke: (account, sender, change) =>
      changes.add(async () => {
        const { pending, approved } = await read(account)
        const isWanted = (one: Sender): boolean => isSame(one.sender, sender)
        const denied = pending.find(isWanted)
        const isWaiting = denied !== undefined && !denied.isDenied
        if (!isWaiting && !approved.some(isWanted)) throw new GatewayError('pairing_not_found')
        const others = pending.filter((one) => one !== denied)
        const changed = {
          pending: denied ? [...others, { ...denied, isDenied: true }] : others,
          approved: approved.filter((one) => !isWanted(one)),
        }
        const audit = { at: Date.now(), change: change(targetOf(account, sender)) }
        await store.setState(owner, keyOf(account), toJson(changed), audit)
        known.set(keyOf(account), changed.approved)
        log.info({ ...account, sender }, isWaiting ? 'a sender was denied' : 'the approval of a sender was withdrawn')
      }),
  }
}

const listItems = (account: AccountRef, { pending, approved }: Pairings): PairingItem[] => [
  ...pending.flatMap(({ to: _to, threadId: _thread, route: _route, isDenied, ...asked }) =>
    isDenied ? [] : { status: 'pending' as const, ...account, ...asked, expiresAt: asked.at + codeMs },
  ),
  ...approved.map((known) => ({ status: 'approved' as const, ...account, ...known })),
]

const keyOf = ({ channel, accountId }: AccountRef): string => JSON.stringify([channel, accountId])

const targetOf = ({ channel, accountId }: AccountRef, sender: string): string => `${channel}/${accountId}/${sender}`

const isSame = (one: string, other: string): boolean => one.trim().toLowerCase() === other.trim().toLowerCase()

const isAmong = (approved: Pairings['approved'], senders: readonly string[]): boolean =>
  senders.some((id) => approved.some(({ sender }) => isSame(sender, id)))

const toJson = (pairings: Pairings): Json => pairings as unknown as Json

const describeCode = (code: string): string =>
  `I do not know you. Ask the operator to approve code ${code} within one hour.`

const approvedText = 'The operator has approved you. Write your message again, please.'
