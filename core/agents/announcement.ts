// The news that a run leaves when it has ended: a summary for the session that should know.
import { isFromHook, type RunSpec } from '../store/run-spec.ts'
import type { NewEvent, NewMessage, StoredRun } from '../store/store.ts'
import type { Ended } from './outcome.ts'

interface Announcement {
  run: StoredRun
  ended: Ended
  /** Does the reply say that there is nothing to say? */
  acknowledged: boolean
  messages: readonly NewMessage[]
  /** What hears of every webhook. */
  mainSession: string
  createId: () => string
}

/** Longest summary, in characters. */
const summaryLimit = 2000

const headings = { hook: 'Hook', subagent: 'Subagent', schedule: 'Schedule', chat: 'Message', channel: 'Message', heartbeat: 'Check' } as const
const sources = { ...headings, hook: 'the run of a webhook', subagent: 'the run of a subagent', schedule: 'the run of a schedule' } as const

export function announce({ run, ended, acknowledged, messages, mainSession, createId }: Announcement): NewEvent[] {
  const { kind, spec } = run
  const sessionKey = kind === 'hook' ? mainSession : spec.announceTo
  if (sessionKey === undefined || (kind === 'schedule' && isOldNews({ ended, acknowledged, messages }))) return []
  // Wrapped by origin: what follows from a webhook is outside text, and so is what was said with outside text at hand.
  const text = summarise({ heading: headings[kind], spec, ended, messages })
  return [{ id: createId(), sessionKey, text, mode: spec.wakeMode, source: sources[kind], trusted: !isFromHook(spec.origin) && !ended.external }]
}

/** A schedule that did what it should is heard by whoever got its reply; only the rest is news. */
const isOldNews = ({ ended, acknowledged, messages }: Pick<Announcement, 'ended' | 'acknowledged' | 'messages'>): boolean =>
  ended.status === 'succeeded' && (acknowledged || messages.some(({ status }) => status === 'pending'))

interface Summary {
  heading: string
  spec: RunSpec
  ended: Ended
  messages: readonly NewMessage[]
}

/** `Hook <name>: <reply>`, with a word on where the reply went, so that the main agent does not repeat it. */
function summarise({ heading, spec, ended, messages }: Summary): string {
  const title = spec.name ? `${heading} ${oneLine(spec.name, 200)}` : heading
  if (ended.status !== 'succeeded') {
    const reason = ended.result.error?.message ?? 'The run was cancelled.'
    return cut(`${title} (failed): ${reason}\nIt was about:\n${spec.message.trim()}`, summaryLimit)
  }
  const head = `${title}: `
  const note = `\n(${deliveryNote(spec, messages)})`
  const reply = (ended.result.reply ?? '').trim() || 'The run ended without a reply.'
  return `${head}${cut(reply, summaryLimit - head.length - note.length)}${note}`
}

function deliveryNote(spec: RunSpec, [message]: readonly NewMessage[]): string {
  if (!spec.deliver || !message) return 'The reply was not delivered: none was asked for.'
  if (message.status === 'pending') return `The reply is on its way to ${oneLine(message.to, 200)} on ${message.channel}; do not repeat it.`
  return `The reply was not delivered: ${message.reason}`
}

const oneLine = (text: string, limit: number): string => cut(text.replace(/\s+/gu, ' ').trim(), limit)

const cut = (text: string, limit: number): string => (text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, '')}…`)
