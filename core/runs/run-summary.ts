// The news that a run leaves when it has ended: a summary for the session that should know.
import { isFromHook, type RunSpec } from '../store/run-spec.ts'
import type { NewEvent, NewDelivery, StoredRun } from '../store/store.ts'
import type { Ended } from './outcome.ts'

interface RunSummary {
  run: StoredRun
  ended: Ended
  /** Does the reply say that there is nothing to say? */
  acknowledged: boolean
  deliveries: readonly NewDelivery[]
  /** What hears of every webhook. */
  mainSession: string
  createId: () => string
}

/** Longest summary, in characters. */
const summaryLimit = 2000

const headings = {
  hook: 'Hook',
  subagent: 'Subagent',
  schedule: 'Schedule',
  chat: 'Message',
  channel: 'Message',
  heartbeat: 'Check',
} as const
const sources = {
  ...headings,
  hook: 'the run of a webhook',
  subagent: 'the run of a subagent',
  schedule: 'the run of a schedule',
} as const

export function createRunSummary({
  run,
  ended,
  acknowledged,
  deliveries,
  mainSession,
  createId,
}: RunSummary): NewEvent[] {
  const { kind, spec } = run
  const sessionKey = kind === 'hook' ? mainSession : spec.summarySession
  if (sessionKey === undefined || (kind === 'schedule' && needsNoSummary({ ended, acknowledged, deliveries })))
    return []
  // Wrapped by origin: what follows from a webhook is outside text, and so is what was said with outside text at hand.
  const text = renderSummary({ heading: headings[kind], spec, ended, deliveries })
  return [
    {
      id: createId(),
      sessionKey,
      text,
      mode: spec.wakeMode,
      source: sources[kind],
      trusted: !isFromHook(spec.origin) && !ended.external,
    },
  ]
}

/** A schedule that did what it should is heard by whoever got its reply; only the rest is news. */
const needsNoSummary = ({
  ended,
  acknowledged,
  deliveries,
}: Pick<RunSummary, 'ended' | 'acknowledged' | 'deliveries'>): boolean =>
  ended.status === 'succeeded' && (acknowledged || deliveries.some(({ status }) => status === 'pending'))

interface Summary {
  heading: string
  spec: RunSpec
  ended: Ended
  deliveries: readonly NewDelivery[]
}

/** `Hook <name>: <reply>`, with a word on where the reply went, so that the main agent does not repeat it. */
function renderSummary({ heading, spec, ended, deliveries }: Summary): string {
  const title = spec.name ? `${heading} ${oneLine(spec.name, 200)}` : heading
  if (ended.status !== 'succeeded') {
    const reason = ended.result.error?.message ?? 'The run was cancelled.'
    return cut(`${title} (failed): ${reason}\nIt was about:\n${spec.message.trim()}`, summaryLimit)
  }
  const head = `${title}: `
  const note = `\n(${deliveryNote(spec, deliveries)})`
  const reply = (ended.result.reply ?? '').trim() || 'The run ended without a reply.'
  return `${head}${cut(reply, summaryLimit - head.length - note.length)}${note}`
}

function deliveryNote(spec: RunSpec, [delivery]: readonly NewDelivery[]): string {
  if (!spec.deliver || !delivery) return 'The reply was not delivered: none was asked for.'
  if (delivery.status === 'pending')
    return `The reply is on its way to ${oneLine(delivery.to, 200)} on ${delivery.channel}; do not repeat it.`
  return `The reply was not delivered: ${delivery.reason}`
}

const oneLine = (text: string, limit: number): string => cut(text.replace(/\s+/gu, ' ').trim(), limit)

const cut = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
