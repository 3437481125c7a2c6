// Counts events since the start. What is committed is counted from the commits of the store.
import { type CommitHandlers, handleCommit } from '../../store/commits/commits.ts'
import { runKinds } from '../../store/run-spec.ts'
import type { OpeningStore } from '../../store/store.ts'
import { createRegistry, type Labels, type Registry } from './registry.ts'
import { countRuns } from './run-meters.ts'
import { countSteps } from './step-meters.ts'

export interface Meters {
  countRequest(labels: { route_group: string; status: string }): void
  /** Counts a commit with the number of its operations. */
  countCommit(operations: number): void
  /** Wraps the reload of the configuration so that its results are counted. */
  countReloads<Result>(reload: () => Promise<Result>): () => Promise<Result>
  /** Counts what is committed from now on. */
  countCommitted(opening: Pick<OpeningStore, 'commits' | 'store'>): void
  /** Returns the lines of all metrics that count. */
  render(): string[]
  /** The last reload of the configuration; the start counts as one. */
  lastReload(): LastReload
}

interface LastReload {
  isSuccessful: boolean
  /** When one has succeeded, in Unix seconds. */
  succeededAt: number
}

export function createMeters(): Meters {
  const registry = createRegistry()
  const requests = registry.counter(
    'svc_gateway_http_requests_total',
    'Answered requests, by route group and status.',
    // A gateway that refuses work must be seen from its first refusal on.
    ['hooks', 'tools', 'mcp', 'control'].map((group) => ({ route_group: group, status: '503' })),
  )
  const commits = registry.histogram('svc_gateway_store_commit_operations', 'Operations per commit.', {
    bounds: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    first: unlabelled,
  })
  const reloads = registry.counter('svc_gateway_config_reloads_total', 'Configuration reloads, by result.', [
    { result: 'success' },
    { result: 'failure' },
  ])
  let last: LastReload = { isSuccessful: true, succeededAt: Date.now() / 1000 }

  function countReload(isSuccessful: boolean): void {
    reloads.add({ result: isSuccessful ? 'success' : 'failure' })
    last = { isSuccessful, succeededAt: isSuccessful ? Date.now() / 1000 : last.succeededAt }
  }

  return {
    countRequest: requests.add,
    countCommit: (operations) => commits.observe(operations),
    countReloads: (reload) => async () => {
      try {
        const result = await reload()
        countReload(true)
        return result
      } catch (error) {
        countReload(false)
        throw error
      }
    },
    countCommitted: (opening) => {
      const meters = [
        countAccepts(registry),
        countRuns(registry, opening.store),
        countSteps(registry),
        countApprovals(registry),
        countDeliveries(registry),
        countPurged(registry),
      ]
      opening.commits.subscribe((call) => meters.forEach((handlers) => handleCommit(handlers, call)))
    },
    render: registry.render,
    lastReload: () => last,
  }
}

/** Of a metric without labels, which has a value from the start. */
const unlabelled: readonly Labels[] = [{}]

/** `increase()` does not see the first value of a series, so what is known beforehand starts at zero. */
const each = (label: string, values: readonly string[]): Labels[] => values.map((value) => ({ [label]: value }))

function countAccepts(registry: Registry): CommitHandlers {
  const seconds = registry.histogram('svc_gateway_accept_seconds', 'Time from accepting work until it is stored.', {
    bounds: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5],
    first: unlabelled,
  })
  const requests = registry.counter(
    'svc_gateway_webhook_requests_total',
    'Webhook requests, by status.',
    each('status', ['accepted', 'skipped', 'rejected', 'failed', 'duplicate']),
  )
  const runs = registry.counter('svc_gateway_runs_accepted_total', 'Accepted runs, by kind.', each('kind', runKinds))
  const firings = registry.counter('svc_gateway_schedule_firings_total', 'Firings of schedules.', unlabelled)
  return {
    accept: ({ args: [command], result: { outcome }, ms }) => {
      seconds.observe(ms / 1000)
      if (outcome !== 'accepted') return
      if (command.request) requests.add({ status: 'accepted' })
      for (const { kind } of command.runs ?? []) runs.add({ kind })
      if (command.firing) firings.add()
    },
    recordRefusal: ({ args: [{ status, isUnauthenticated }] }) => {
      // Only some of them are recorded. All of them are among the HTTP requests.
      if (!isUnauthenticated) requests.add({ status })
    },
  }
}

function countApprovals(registry: Registry): CommitHandlers {
  const approvals = registry.counter(
    'svc_gateway_approvals_total',
    'Ended approvals, by outcome.',
    each('outcome', ['approved', 'denied', 'expired', 'cancelled']),
  )
  /** Each approval that ends with its run has a notice for those who were asked. */
  const countWithRun = (notices: readonly unknown[] = []): void => {
    if (notices.length > 0) approvals.add({ outcome: 'cancelled' }, notices.length)
  }
  return {
    endQueuedRun: ({ args: [, { notices }], result: isCancelled }) => {
      if (isCancelled) countWithRun(notices)
    },
    endRun: ({ args: [, { notices }], result: isEnded }) => {
      if (isEnded) countWithRun(notices)
    },
    answerApproval: ({ args: [, { status }], result: isAnswered }) => {
      if (isAnswered) approvals.add({ outcome: status })
    },
  }
}

function countDeliveries(registry: Registry): CommitHandlers {
  const attempts = registry.counter(
    'svc_gateway_delivery_attempts_total',
    'Delivery attempts, by result.',
    each('status', ['sent', 'failed', 'unknown', 'retry']),
  )
  return {
    endDelivery: ({ args: [, , { status }], result: isEnded }) => {
      if (isEnded) attempts.add({ status })
    },
  }
}

function countPurged(registry: Registry): CommitHandlers {
  const purged = registry.counter(
    'svc_gateway_store_purged_total',
    'Purged records, by kind.',
    each('kind', ['requests', 'bodies', 'runs', 'deliveries', 'events', 'sessions']),
  )
  return {
    purge: ({ result: { counts } }) => {
      for (const [kind, times] of Object.entries(counts)) if (times > 0) purged.add({ kind }, times)
    },
    purgeBodies: ({ result: { count } }) => {
      if (count > 0) purged.add({ kind: 'bodies' }, count)
    },
  }
}
