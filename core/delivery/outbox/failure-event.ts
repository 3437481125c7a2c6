// Creates the event that tells the main agent that a delivery has finally failed, or may not have arrived. Before, it
// has only heard that the message is on its way.
import { authorOf, joinTurn, type Provenance, unknownProvenance } from '../../store/provenance.ts'
import { isFromHook } from '../../store/run-spec.ts'
import { clip } from '../../kit/text.ts'
import type { DeliveryEnd, NewEvent, Store, StoredDelivery, StoredRun } from '../../store/store.ts'

export type Undelivered = Extract<DeliveryEnd, { status: 'failed' | 'unknown' }>

export type CreateFailureEvent = (delivery: StoredDelivery, end: Undelivered) => Promise<NewEvent>

interface FailureEventDeps {
  store: Pick<Store, 'getRun'>
  mainSession: () => string
  createId: () => string
}

/** How much of the message the event repeats, in characters, so that the agent recognizes it. */
const excerptLength = 300

export function createFailureEvents({ store, mainSession, createId }: FailureEventDeps): CreateFailureEvent {
  return async (delivery, end) => {
    const run = delivery.runId === '' ? undefined : await store.getRun(delivery.runId)
    const provenance = writtenByRun(run)
    return {
      id: createId(),
      sessionKey: mainSession(),
      text: renderEvent(delivery, { run, end }),
      // Only a webhook may ask for a wake: a heartbeat that cannot be delivered must not cause the next one.
      mode: run?.kind === 'hook' ? run.spec.wakeMode : 'next-heartbeat',
      source: 'a delivery that failed',
      trusted: provenance.outside.length === 0,
      provenance,
    }
  }
}

/** The text of a run that has read text from outside is text from outside itself. */
export function writtenByRun(run: StoredRun | undefined): Provenance {
  if (!run) return unknownProvenance
  const { kind, spec, result } = run
  if (result.provenance) return joinTurn(result.provenance)
  // Its turn is not over: a tool has sent the message.
  const { origin } = spec
  if (isFromHook(origin)) return { outside: [`${kind} ${origin.name}`], authors: [], isPrivate: true }
  return origin.provenance ?? { outside: [], authors: (origin.initiators ?? []).map(authorOf), isPrivate: true }
}

function renderEvent(
  { text, file, to, channel }: StoredDelivery,
  { run, end }: { run: StoredRun | undefined; end: Undelivered },
): string {
  const title = run?.kind === 'hook' ? `Hook${run.spec.name ? ` ${toOneLine(run.spec.name)}` : ''}: the` : 'The'
  const message = `${title} message to ${toOneLine(to)} on ${channel}`
  const isLost = end.status === 'failed'
  const fate = isLost ? 'was not delivered' : 'may not have arrived, and is not sent again'
  return [
    `${message} ${fate}: ${clip(end.reason, 500)}`,
    ...(file ? [`Its file: ${toOneLine(file.name)}`] : []),
    // A message of no run may hold what is not for agents, such as a code for its recipient.
    ...(run && text.trim() ? [`It began:\n${clip(text, excerptLength)}`] : []),
  ].join('\n')
}

const toOneLine = (text: string): string => clip(text.replace(/\s+/gu, ' '), 200)
