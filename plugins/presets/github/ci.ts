// The results of checks, workflows and deployments: failures, and deployments that have finished.
import { entryOf } from 'svc-gateway/plugin'
import { type EventText, short, type EventHandler } from './event-text.ts'
import type { Check, Payload } from './payload.ts'

const bad: ReadonlySet<unknown> = new Set(['failure', 'timed_out', 'startup_failure', 'action_required'])

export const describeWorkflow: EventHandler = ({ action, workflow_run: run }) =>
  failure('Workflow', { action, check: run })

/** Checks of GitHub Actions are reported as workflow runs. */
export const describeCheck: EventHandler = ({ action, check_run: check }) =>
  check?.app?.slug === 'github-actions' ? null : failure('Check', { action, check })

function failure(
  kind: string,
  { action, check }: { action: Payload['action']; check: Check | null | undefined },
): EventText | null {
  if (action !== 'completed' || !bad.has(check?.conclusion)) return null
  const where = [check?.head_branch && `on ${check.head_branch}`, check?.head_sha && `at ${short(check.head_sha)}`]
    .filter(Boolean)
    .join(' ')
  return {
    head: `${kind} "${check?.name ?? ''}" ended with ${check?.conclusion?.replaceAll('_', ' ')} ${where}`,
    details: [check?.output?.title],
    link: check?.html_url,
    text: check?.output?.summary,
    number: check?.pull_requests?.[0]?.number,
  }
}

export const describeStatus: EventHandler = ({ state, context, sha, description, target_url: link }) =>
  state === 'failure' || state === 'error'
    ? { head: `Status "${context ?? ''}" is ${state} at ${short(sha)}`, details: [description], link }
    : null

export const describeDeployment: EventHandler = ({ deployment, deployment_status: status }) => {
  const outcomes: Record<string, string> = { success: 'succeeded', failure: 'failed', error: 'failed' }
  const outcome = entryOf(outcomes, status?.state)
  if (outcome === undefined) return null
  return {
    head: `The deployment of ${deployment?.ref ?? ''} to ${deployment?.environment ?? ''} ${outcome}`,
    details: [status?.description],
    link: status?.target_url || status?.log_url,
  }
}
