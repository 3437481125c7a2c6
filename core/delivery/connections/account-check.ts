// Checks an account against its real platform: sends what a channel can send to one recipient, and connects again. A
// person looks at what has arrived.
import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { findRecipientProblem } from '../../config/rules/recipients.ts'
import { withDeadline } from '../../deadline.ts'
import { describeError } from '../../errors.ts'
import { type Connection, InputError, type Log } from '../../plugin/plugin.ts'
import { splitIntoChunks } from '../format/chunks.ts'
import { type Chunk, type ChunkEnd, sendChunk } from '../outbox/send-chunk.ts'
import type { Connections } from './connections.ts'
import type { Link } from './link.ts'
import { findLink, type LoginTarget } from './login.ts'

export interface AccountCheckStep {
  name: (typeof checkNames)[number]
  /** `skipped`: the channel does not do this. */
  outcome: 'passed' | 'failed' | 'skipped'
  /** Why it failed, or what a person should see. */
  detail: string
  ms: number
}

export const checkNames = [
  'connected',
  'text',
  'style',
  'longest text',
  'repeat',
  'typing',
  'file',
  'choices',
  'reconnect',
  'text after reconnect',
] as const

export interface AccountCheckPlace {
  to: string
  threadId?: string | undefined
}

/** Throws an `InputError` if there is no such account or recipient. */
export type CheckAccount = (target: LoginTarget, place: AccountCheckPlace) => Promise<AccountCheckStep[]>

interface AccountCheckDeps {
  connections: Pick<Connections, 'find'>
  /** Removes secrets from a text. */
  redact(text: string): string
  log: Log
}

/** How long a step may take. */
const stepMs = 30_000
const pollMs = 50

/** What a step needs. */
interface Check extends AccountCheckPlace {
  link: Link
  connection: Connection
  /** Says which check a message belongs to. */
  id: string
  log: Log
}

/** Resolves with what a person should see, or with undefined if the channel does not do this. */
type Step = (check: Check) => Promise<string | undefined>

export const createAccountCheck =
  ({ connections, redact, log }: AccountCheckDeps): CheckAccount =>
  async (target, place) => {
    const link = findLink(connections, target)
    const problem = findRecipientProblem(link.channel, place.to)
    if (problem) throw new InputError(`to ${problem}`)
    const id = randomUUID().slice(0, 8)
    const results: AccountCheckStep[] = []
    for (const name of checkNames) {
      const startedAt = performance.now()
      const { outcome, detail } = await perform(steps[name], { ...place, link, id, log })
      results.push({ name, outcome, detail: redact(detail), ms: Math.round(performance.now() - startedAt) })
      if (name === 'connected' && outcome === 'failed') break
    }
    return results
  }

async function perform(
  step: Step,
  check: Omit<Check, 'connection'>,
): Promise<Pick<AccountCheckStep, 'outcome' | 'detail'>> {
  const { connection } = check.link
  if (!connection) return { outcome: 'failed', detail: 'The account is not connected; see GET /api/channels.' }
  const seconds = (stepMs * 2) / 1000
  const limit = { ms: stepMs * 2, reason: () => new CheckError(`It did not end within ${seconds} seconds.`) }
  try {
    const seen = await withDeadline(limit, () => step({ ...check, connection }))
    return seen === undefined
      ? { outcome: 'skipped', detail: 'The channel does not do this.' }
      : { outcome: 'passed', detail: seen }
  } catch (error) {
    if (error instanceof CheckError) return { outcome: 'failed', detail: error.message }
    check.log.warn(describeError(error), 'a step of the check of an account failed')
    return { outcome: 'failed', detail: 'The channel failed; see the log of the gateway.' }
  }
}

class CheckError extends Error {
  override readonly name = 'CheckError'
}

const styled = '**Bold**, _italic_, ~~struck~~, `code` and [a link](https://example.com/), which has no preview.'

const steps: Record<AccountCheckStep['name'], Step> = {
  connected: async () => 'The account is connected.',
  text: async (check) => {
    await sendText(check, `This is the check ${check.id} of svc-gateway.`)
    return 'One message that names the check.'
  },
  style: async (check) => {
    await sendText(check, styled)
    return 'Bold, italic, struck and code as such, or without marks, and a link without a preview.'
  },
  'longest text': async (check) => {
    const { maxText } = check.link.channel.limits
    const length = Math.min(maxText, longestText)
    await sendText(check, `${'x'.repeat(length - 1)}.`)
    return `One message of ${length} characters that ends with a full stop.`
  },
  repeat: async (check) => {
    if (check.link.channel.limits.idempotency === 'none') return undefined
    const chunk = await chunkOf(check, 'This message must be here once.')
    assertSent(await sendChunk(chunk, stepMs))
    assertSent(await sendChunk({ ...chunk, uncertain: true }, stepMs))
    return 'One message that says so.'
  },
  typing: async ({ connection, to }) => {
    if (!connection.typing) return undefined
    await connection.typing(to, true)
    await connection.typing(to, false)
    return 'For a moment, that the agent is typing.'
  },
  file: async (check) => {
    if (check.link.channel.limits.maxFileBytes === undefined) return undefined
    const data = Buffer.from(`The check ${check.id}.\n`)
    const file = { name: 'check.txt', type: 'text/plain', data }
    assertSent(await sendChunk({ ...(await chunkOf(check, 'A file.')), readFile: async () => file }, stepMs))
    return 'The file check.txt, which names the check.'
  },
  choices: async (check) => {
    const { connection, link, to, threadId } = check
    if (link.channel.limits.maxChoices === undefined) return undefined
    const choices = [{ label: 'Yes', text: 'yes' }]
    const chunk = { ...(await chunkOf(check, 'This button goes again.')), choices }
    const id = assertSent(await sendChunk(chunk, stepMs))
    if (id === undefined) throw new CheckError('The message has no id, so its choices cannot be removed.')
    await connection.removeChoices?.({ id, to, text: chunk.text, ...(threadId !== undefined && { threadId }) })
    return 'A message whose button is gone again.'
  },
  reconnect: async ({ link }) => {
    await link.reconnect()
    while (!link.connection) await delay(pollMs, undefined, { ref: false })
    return 'Nothing: the account has connected again.'
  },
  'text after reconnect': async (check) => {
    await sendText(check, `The check ${check.id} has ended. Answer this message.`)
    return 'One message. Answer it: the agent answers, and knows which message you answered.'
  },
}

/** Long enough to prove it, and not hundreds of screens. */
const longestText = 4000

async function sendText(check: Check, text: string): Promise<void> {
  assertSent(await sendChunk(await chunkOf(check, text), stepMs))
}

async function chunkOf({ link: { channel }, connection, to, threadId, log }: Check, text: string): Promise<Chunk> {
  const [chunk = { text }] = await splitIntoChunks(text, channel.limits)
  const createdAt = Date.now()
  const delivery = {
    to,
    threadId: threadId ?? null,
    route: null,
    reason: null,
    file: null,
    attemptedAt: createdAt,
    createdAt,
  }
  return { channel, connection, delivery, ...chunk, key: `${randomUUID()}:0`, uncertain: false, log }
}

/** @returns the id of the message on the platform */
function assertSent(end: ChunkEnd): string | undefined {
  if (end.outcome === 'sent') return end.id
  throw new CheckError(end.detail)
}
