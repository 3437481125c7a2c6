// Reports a webhook run that failed to the recipient in `hooks.onFailure`, at most once in ten minutes for each cause.
import type { Config } from '../config/schema/schema.ts'
import { createRequestedAddress, type Recipients } from '../delivery/recipient.ts'
import type { Log } from '../plugin/plugin.ts'
import type { FailureAlert, StoredRun } from '../store/store.ts'
import type { AttemptResult } from './attempt-result.ts'
import { identifyRun } from './run-log.ts'

interface AlertDeps {
  onFailure: Config['hooks']['onFailure']
  recipients: Pick<Recipients, 'resolve'>
  /** True: another gateway on the store may have a channel that this one lacks. */
  isShared: boolean
  log: Log
}

const quietMs = 10 * 60 * 1000

/** Returns undefined if no alert is configured for this run, or if its recipient cannot be resolved. */
export async function createFailureAlert(
  { onFailure, recipients, isShared, log }: AlertDeps,
  run: StoredRun,
  ended: AttemptResult,
): Promise<FailureAlert | undefined> {
  if (!onFailure || run.kind !== 'hook' || (ended.status !== 'failed' && ended.status !== 'timed_out')) return undefined
  // The budget has an alert of its own.
  if (ended.result.error?.type === 'budget_exceeded') return undefined
  const found = await recipients.resolve(onFailure)
  const isAwaited = 'reason' in found && found.isMissing && isShared
  if ('reason' in found && !isAwaited) {
    log.warn({ ...identifyRun(run), reason: found.reason }, 'a failure alert has no recipient')
    return undefined
  }
  const { error } = ended.result
  const delivery = {
    id: `${run.id}:alert`,
    runId: run.id,
    ...('address' in found
      ? found.address
      : { ...createRequestedAddress(onFailure), channel: found.channel, to: found.to, wanted: onFailure }),
    text: renderAlert(run, error?.message ?? ''),
    status: 'pending',
    reason: 'address' in found ? null : found.reason,
  } as const
  // The cause leaves out details that differ from run to run, so that repeated failures are recognised.
  return { cause: `${error?.type}: ${ended.cause ?? error?.message}`, quietMs, delivery }
}

function renderAlert({ id, spec: { name, origin } }: StoredRun, reason: string): string {
  const title = name ? `The hook ${origin.name} (${name})` : `The hook ${origin.name}`
  return [
    `${title} has a run that failed: ${reason}`,
    `Run ${id}. Further failures for this reason are not reported for ${quietMs / 60_000} minutes.`,
  ].join('\n')
}
