// The timeline of a run: how long it was queued, its attempts and steps, and what happened to its reply.
import { describeStep, formatMs, type RunStep } from 'svc-gateway/kit'

/** What the control API says of a run, as far as the timeline shows it. */
export interface TimedRun {
  queuedMs?: number
  attempts: readonly { startedAt: string; endedAt?: string; reason?: string }[]
  status: string
  error?: { message: string }
  deliveries: readonly { channel: string; to: string; status: string; reason?: string }[]
}

/** The lines of a timeline: what it was, how long it took, and the details. */
export function* listTimeline(run: TimedRun, steps: readonly RunStep[]): Iterable<readonly string[]> {
  if (run.queuedMs !== undefined) yield ['queued', formatMs(run.queuedMs), '']
  for (const [index, { startedAt, endedAt, reason }] of run.attempts.entries()) {
    const isOnly = run.attempts.length === 1
    if (!isOnly) yield [`attempt ${index + 1}`, durationOf(startedAt, endedAt), reason ?? run.status]
    for (const step of steps) if (step.attempt === index + 1) yield describeStep(step)
  }
  if (run.error) yield [run.status, '', run.error.message]
  for (const { channel, to, status, reason } of run.deliveries)
    yield ['delivery', '', [`${status} to ${to} on ${channel}`, reason].filter(Boolean).join(': ')]
}

const durationOf = (startedAt: string, endedAt: string | undefined): string =>
  endedAt === undefined ? '' : formatMs(Date.parse(endedAt) - Date.parse(startedAt))
