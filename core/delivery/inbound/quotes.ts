// Says what a message quotes or passes on, and from whom, so that the agent takes the text for what it is.
import { clip } from '../../kit/text.ts'
import type { InboundMessage, QuotedMessage } from '../../plugin/plugin.ts'
import { joinProvenance, noProvenance, type Provenance, unknownProvenance } from '../../store/provenance.ts'
import type { Quote, RunSpec } from '../../store/run-spec.ts'
import type { AccountRef, Store, StoredDelivery } from '../../store/store.ts'
import { writtenByRun } from '../outbox/failure-event.ts'

interface QuotesDeps {
  store: Pick<Store, 'getSentMessage' | 'getRun'>
}

interface Reading {
  account: AccountRef
  /** The recipients of messages in this conversation. On many platforms, each conversation counts its own messages. */
  recipients: readonly string[]
  /** Whether what this person writes here is trusted as the operator's own senders are. */
  isTrusted(ids: readonly string[]): Promise<boolean>
  /** The text of a quote, with a line for each of its files. */
  describe(quoted: Pick<QuotedMessage, 'text' | 'attachments'>, isExternal: boolean): Promise<string>
}

/** What a message adds to its run. */
export type Quoting = Pick<RunSpec, 'quoted' | 'forwarded'> & { provenance?: Provenance }

/** Longest quote that the agent reads, in characters. It may be long, because "summarize this" is about it. */
const longestQuote = 16_000
const longestName = 200

export async function readQuotes(deps: QuotesDeps, message: InboundMessage, reading: Reading): Promise<Quoting> {
  const { quoted, forwardedFrom } = message
  const { channel } = reading.account
  const from = nameOf(forwardedFrom?.name)
  const quoting = quoted ? await readQuote(deps, { quoted, message, reading }) : {}
  if (!forwardedFrom) return quoting
  const provenance = outside(`a message that was forwarded on ${channel}`)
  return {
    ...quoting,
    forwarded: from === undefined ? {} : { from },
    provenance: joinProvenance(provenance, quoting.provenance ?? noProvenance),
  }
}

interface Quoted {
  quoted: QuotedMessage
  message: InboundMessage
  reading: Reading
}

async function readQuote({ store }: QuotesDeps, { quoted, message, reading }: Quoted): Promise<Quoting> {
  const { account, recipients } = reading
  const sent = quoted.id === undefined ? undefined : await store.getSentMessage({ ...account, recipients }, quoted.id)
  const isOwn = quoted.isOwn ?? sent !== undefined
  const provenance = isOwn ? await writtenByUs(store, sent) : await writtenByOthers({ quoted, message, reading })
  const isExternal = provenance.outside.length > 0
  const part = isOwn && sent ? partOf(sent.text, quoted.text) : quoted.text
  const text = await reading.describe({ ...quoted, text: clip(part || sent?.text, longestQuote) }, isExternal)
  const from = isOwn ? undefined : nameOf(quoted.from?.name ?? quoted.from?.id)
  const quote: Quote = { text, isOwn, isExternal, ...(from !== undefined && { from }) }
  return text === '' ? {} : { quoted: quote, provenance }
}

/**
 * What is quoted of a message of the account. On some platforms, the app of whoever quotes says what it was: if the
 * account has not written that, the whole message counts.
 */
function partOf(sent: string, quoted = ''): string {
  // Platforms show a text without its marks, and with other spaces.
  const plain = (text: string): string => text.replaceAll(/[^\p{L}\p{N}]+/gu, '')
  return plain(sent).includes(plain(quoted)) ? quoted : sent
}

/** Of a message that the gateway does not know any more, somebody else may have written the text. */
async function writtenByUs(store: Pick<Store, 'getRun'>, sent: StoredDelivery | undefined): Promise<Provenance> {
  return sent && sent.runId !== '' ? writtenByRun(await store.getRun(sent.runId)) : unknownProvenance
}

async function writtenByOthers({ quoted: { from }, message, reading }: Quoted): Promise<Provenance> {
  const author = from?.id
  if (author !== undefined) {
    const isSender = [message.from.id, ...(message.from.otherIds ?? [])].includes(author)
    if (await reading.isTrusted(isSender ? [message.from.id, ...(message.from.otherIds ?? [])] : [author]))
      return { ...noProvenance, isPrivate: true }
  }
  return outside(`a message that was quoted on ${reading.account.channel}`)
}

const outside = (source: string): Provenance => ({ outside: [source], authors: [], isPrivate: true })

const nameOf = (name: string | undefined): string | undefined => name?.trim().slice(0, longestName) || undefined
