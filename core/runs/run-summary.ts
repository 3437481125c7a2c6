// Creates the run summary: the event that reports the end of a run in another session, usually the main session.
import { authorOf, joinTurn, type Provenance } from '../store/provenance.ts'
import { isFromHook, type RunSpec } from '../store/run-spec.ts'
import type { NewEvent, NewDelivery, StoredRun } from '../store/store.ts'
import type { AttemptResult } from './attempt-result.ts'

interface RunSummary {
  run: StoredRun
  ended: AttemptResult
  /** True if the reply says only that there is nothing to report. */
  acknowledged: boolean
  deliveries: readonly NewDelivery[]
  /** Receives the summary of every webhook run. */
  mainSession: string
  createId: () => string
}

/** In characters. */
const maxSummaryLength = 2000

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
  if (kind === 'hook' && wasNeverStarted(ended)) return []
  // A schedule of somebody who was removed would start a heartbeat whenever it fires.
  if (ended.result.error?.type === 'rights_removed') return []
  if (sessionKey === undefined || (kind === 'schedule' && needsNoSummary({ ended, acknowledged, deliveries })))
    return []
  const provenance = provenanceOf(run, ended)
  const text = renderSummary({ heading: headings[kind], spec, ended, deliveries })
  return [
    {
      id: createId(),
      sessionKey,
      text,
      mode: spec.wakeMode,
      source: sources[kind],
      // What a run says that has read text from outside is text from outside itself.
      trusted: provenance.outside.length === 0,
      provenance,
    },
  ]
}

/** The summary repeats the reply, or the task of a run that has made no turn. */
function provenanceOf({ kind, spec: { origin } }: StoredRun, { provenance }: AttemptResult): Provenance {
  if (provenance) return joinTurn(provenance)
  const outside = isFromHook(origin) ? [`${kind} ${origin.name}`] : []
  return (
    origin.provenance ?? { outside, authors: (origin.initiators ?? []).map(authorOf), isPrivate: outside.length === 0 }
  )
}

/** The budget has an alert of its own, and events would start heartbeats that cost money. */
const wasNeverStarted = ({ result }: AttemptResult): boolean =>
  result.error?.type === 'budget_exceeded' && result.usage === undefined

/** A schedule that worked needs no summary if its reply is delivered, or has nothing to report. */
const needsNoSummary = ({
  ended,
  acknowledged,
  deliveries,
}: Pick<RunSummary, 'ended' | 'acknowledged' | 'deliveries'>): boolean =>
  ended.status === 'succeeded' && (acknowledged || deliveries.some(({ status }) => status === 'pending'))

interface Summary {
  heading: string
  spec: RunSpec
  ended: AttemptResult
  deliveries: readonly NewDelivery[]
}

/** `Hook <name>: <reply>`, with a note on where the reply went, so that the main agent does not repeat it. */
function renderSummary({ heading, spec, ended, deliveries }: Summary): string {
  const title = spec.name ? `${heading} ${toOneLine(spec.name, 200)}` : heading
  if (ended.status !== 'succeeded') {
    const reason = ended.result.error?.message ?? 'The run was cancelled.'
    return truncate(`${title} (failed): ${reason}\nIt was about:\n${spec.message.trim()}`, maxSummaryLength)
  }
  const head = `${title}: `
  const note = `\n(${renderDeliveryNote(spec, deliveries)})`
  const reply = (ended.result.reply ?? '').trim() || 'The run ended without a reply.'
  return `${head}${truncate(reply, maxSummaryLength - head.length - note.length)}${note}`
}

function renderDeliveryNote(spec: RunSpec, [delivery]: readonly NewDelivery[]): string {
  if (!spec.deliver || !delivery) return 'The reply was not delivered: none was asked for.'
  if (delivery.wanted) return `The reply waits for the channel ${delivery.channel}; do not repeat it.`
  if (delivery.status === 'pending')
    return `The reply is on its way to ${toOneLine(delivery.to, 200)} on ${delivery.channel}; do not repeat it.`
  return `The reply was not delivered: ${delivery.reason}`
}

const toOneLine = (text: string, limit: number): string => truncate(text.replace(/\s+/gu, ' ').trim(), limit)

const truncate = (text: string, limit: number): string =>
  text.length <= limit ? text : `${text.slice(0, limit - 1).replace(/[\uD800-\uDBFF]$/, '')}…`
