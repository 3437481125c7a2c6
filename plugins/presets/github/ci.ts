// The results of checks, workflows and deployments: failures, reviews, and deployments that have finished.
import { entryOf, plain, quote, shortHash, words } from 'svc-gateway/kit'
import { type EventHandler, type EventText } from './event-text.ts'
import type { Check, Payload } from './payload.ts'

const bad: ReadonlySet<unknown> = new Set(['failure', 'timed_out', 'startup_failure', 'action_required'])

/** A workflow without a name has that of its file. */
export const describeWorkflow: EventHandler = ({ action, workflow, workflow_run: run }) => {
  const file = typeof workflow === 'object' ? workflow : undefined
  const name = run?.name || file?.name || run?.path || file?.path
  return failure('Workflow', { action, check: run && { ...run, name } })
}

/** Checks of GitHub Actions are reported as workflow runs. */
export const describeCheck: EventHandler = ({ action, check_run: check }) =>
  check?.app?.slug === 'github-actions' ? null : failure('Check', { action, check })

function failure(
  kind: string,
  { action, check }: { action: Payload['action']; check: Check | null | undefined },
): EventText | null {
  if (action !== 'completed' || !check || !bad.has(check.conclusion)) return null
  return {
    head: words(
      kind,
      quote(check.name),
      `ended with ${plain(check.conclusion)}`,
      check.head_branch && `on ${check.head_branch}`,
      check.head_sha && `at ${shortHash(check.head_sha)}`,
    ),
    details: [check.output?.title],
    link: check.html_url,
    text: check.output?.summary,
    number: check.pull_requests?.[0]?.number,
  }
}

export const describeStatus: EventHandler = ({ state, context, sha, description, target_url: link }) =>
  state === 'failure' || state === 'error'
    ? {
        head: words('Status', quote(context), `is ${state}`, sha && `at ${shortHash(sha)}`),
        details: [description],
        link,
      }
    : null

export const describeDeployment: EventHandler = ({ deployment, deployment_status: status }) => {
  const outcomes: Record<string, string> = { success: 'succeeded', failure: 'failed', error: 'failed' }
  const outcome = entryOf(outcomes, status?.state)
  if (outcome === undefined) return null
  const environment = status?.environment || deployment?.environment
  return {
    head: words(
      'The deployment',
      deployment?.ref && `of ${deployment.ref}`,
      environment && `to ${environment}`,
      outcome,
    ),
    details: [status?.description],
    link: status?.target_url || status?.log_url,
  }
}

export const describeDeploymentReview: EventHandler = (payload, who) => {
  const { action, environment, approver, requestor, reviewers, comment, workflow_run: run } = payload
  const target = environment || payload.workflow_job_run?.environment
  const deployment = words('the deployment', run?.head_branch && `of ${run.head_branch}`, target && `to ${target}`)
  const asked = (reviewers ?? []).map(({ reviewer }) => reviewer?.login ?? reviewer?.name).filter(Boolean)
  const request = asked.length > 0 ? `asked ${asked.join(', ')} to review` : 'asked for a review of'
  const heads: Record<string, string> = {
    requested: `${requestor?.login ?? who} ${request} ${deployment}`,
    approved: `${approver?.login ?? who} approved ${deployment}`,
    rejected: `${approver?.login ?? who} rejected ${deployment}`,
  }
  const head = entryOf(heads, action)
  if (head === undefined) return null
  return {
    head,
    link: run?.html_url ?? payload.workflow_job_run?.html_url,
    text: typeof comment === 'string' ? comment : undefined,
  }
}
