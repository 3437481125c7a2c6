// The limits of what a run may do together with its subagents: messages, approvals and runs that it starts.
import type { Agents } from '../agents/agents.ts'
import { InputError, type Log } from '../plugin/plugin.ts'
import { createSerialQueue } from '../serial-queue.ts'
import type { RunTreeCounts, Store } from '../store/store.ts'

type Limited = 'maxMessages' | 'maxApprovals' | 'maxStartedRuns'

export interface RunLimits {
  /**
   * Does the work if the run may do it once more, else throws an `InputError` that the model reads. The work must have
   * stored what it does when it resolves. Without a run, there is no limit.
   */
  within<Result>(limit: Limited, runId: string | undefined, work: () => Promise<Result>): Promise<Result>
}

interface RunLimitsDeps {
  store: Pick<Store, 'countRunTree'>
  agents: Pick<Agents, 'get'>
  log: Log
}

const counts = { maxMessages: 'messages', maxApprovals: 'approvals', maxStartedRuns: 'startedRuns' } as const

const nouns: Record<Limited, (max: number) => string> = {
  maxMessages: (max) => `sent ${max} messages`,
  maxApprovals: (max) => `asked for ${max} approvals`,
  maxStartedRuns: (max) => `started ${max} runs`,
}

export function createRunLimits({ store, agents, log }: RunLimitsDeps): RunLimits {
  // One after the other, so that simultaneous calls count each other.
  const queue = createSerialQueue()

  async function check(limit: Limited, runId: string): Promise<void> {
    const tree = await store.countRunTree(runId)
    if (!tree) return
    const max = agents.get(tree.rootAgentId)[limit]
    if (tree[counts[limit]] < max) return
    log.warn({ runId, agentId: tree.rootAgentId, limit: `agents.defaults.${limit}`, max }, 'a run reached a limit')
    throw new InputError(describeLimit(limit, tree, max))
  }

  return {
    within: (limit, runId, work) =>
      runId === undefined
        ? work()
        : queue.add(async () => {
            await check(limit, runId)
            return await work()
          }),
  }
}

const describeLimit = (limit: Limited, { rootAgentId }: RunTreeCounts, max: number): string =>
  `This run and its subagents have already ${nouns[limit](max)}, which is the limit (${limit} of agents.${rootAgentId} ` +
  'or agents.defaults); finish without more.'
