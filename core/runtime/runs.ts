// Builds the execution of runs: attempts, outcomes, the heartbeat, and runs from channel messages.
import { createTurn } from '../agents/turn.ts'
import { createInbound } from '../delivery/inbound.ts'
import { createTyping } from '../delivery/typing.ts'
import { createAttempts } from '../runs/attempt.ts'
import { createOutcome } from '../runs/outcome.ts'
import { createHeartbeat } from '../schedules/heartbeat.ts'
import type { CurrentRuntime } from '../services.ts'
import type { AgentArea } from './agents.ts'
import type { BuildContext } from './build-context.ts'
import type { ToolArea } from './tools.ts'

export type RunArea = ReturnType<typeof buildRuns>

export function buildRuns(
  { config, services }: BuildContext,
  { agents, models, recipients }: AgentArea,
  { policy, invoke }: ToolArea,
) {
  const { storage, work, delivery, logs } = services
  const { store, createId } = storage
  const { runs, events, replyStreams } = work
  const { maxAttempts } = config.agents.defaults
  const log = logs.logFor('agents')
  const runTurn = createTurn({ invoke, tools: (subject) => policy.listed(subject).map(({ tool }) => tool), log })
  const attempts = createAttempts({ config, store, agents, models, policy, runTurn, replyStreams, log })
  const typing = createTyping({ connections: delivery.connections, log: logs.logFor('delivery') })
  const current: Omit<CurrentRuntime, 'config'> = {
    attempt: (run, stop) => typing.during(run, () => attempts.run(run, stop)),
    outcome: createOutcome({ agents, recipients, createId, onFailure: config.hooks.onFailure, log }),
    receive: createInbound({
      accept: runs.accept,
      agent: agents.default,
      maxAttempts,
      createId,
      routes: delivery.replyRoutes,
      log: logs.logFor('delivery'),
    }),
  }
  const heartbeat = createHeartbeat({ agents, events, runs, store, createId, maxAttempts, log })
  return { ...current, heartbeat, untilIdle: attempts.settled }
}
