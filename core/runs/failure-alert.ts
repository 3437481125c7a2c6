// Tells a person that a webhook's run has failed: where `hooks.onFailure` says, and once for a cause within ten
// minutes.
import type { Config } from '../config/schema.ts'
import type { Recipients } from '../delivery/recipient.ts'
import type { Log } from '../plugin.ts'
import type { FailureAlert, StoredRun } from '../store/store.ts'
import type { Ended } from './outcome.ts'

interface AlertDeps {
  onFailure: Config['hooks']['onFailure']
  recipients: Pick<Recipients, 'resolve'>
  log: Log
}

const quietMs = 10 * 60 * 1000

/** Undefined: nobody is to be told, or can be. */
export async function createAlert(
  { onFailure, recipients, log }: AlertDeps,
  run: StoredRun,
  ended: Ended,
): Promise<FailureAlert | undefined> {
  if (!onFailure || run.kind !== 'hook' || (ended.status !== 'failed' && ended.status !== 'timed_out')) return undefined
  const found = await recipients.resolve(onFailure)
  if (!('address' in found)) {
    log.warn({ runId: run.id, reason: found.reason }, 'nobody can be told of a failed run')
    return undefined
  }
  const { error } = ended.result
  const delivery = {
    id: `${run.id}:alert`,
    runId: run.id,
    ...found.address,
    text: textOf(run, error?.message ?? ''),
    status: 'pending',
    reason: null,
  } as const
  // What varies from run to run is no part of the cause.
  return { cause: `${error?.type}: ${ended.cause ?? error?.message}`, quietMs, delivery }
}

function textOf({ id, spec: { name, origin } }: StoredRun, reason: string): string {
  const title = name ? `The hook ${origin.name} (${name})` : `The hook ${origin.name}`
  return `${title} has a run that failed: ${reason}\nRun ${id}. Further failures for this reason are not reported for ${quietMs / 60_000} minutes.`
}
