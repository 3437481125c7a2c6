// Builds the execution of runs: attempts, outcomes, the heartbeat, and runs from channel messages.
import { createTurn } from '../agents/turn.ts'
import { createAttachments } from '../delivery/inbound/attachments.ts'
import { maxAttachmentBytes } from '../delivery/inbound/downloads.ts'
import { createChatCommands } from '../delivery/inbound/chat-commands.ts'
import { createInbound, type Receive } from '../delivery/inbound/inbound.ts'
import { createTyping } from '../delivery/typing.ts'
import { type Attempt, createAttempts } from '../runs/attempt.ts'
import { createRunLimits } from '../runs/run-limits.ts'
import { createOutcome } from '../runs/outcome.ts'
import { toStepChange } from '../runs/step-change.ts'
import { createHeartbeat } from '../schedules/heartbeat.ts'
import type { CurrentRuntime } from '../services.ts'
import type { AgentArea } from './agents.ts'
import { checkCall } from '../tools/check-call.ts'
import { describedBy } from '../tools/external-texts.ts'
import { createWorkspace } from '../tools/workspace.ts'
import type { BuildContext } from './build-context.ts'
import type { ToolArea } from './tools.ts'

export function buildRuns(
  { config, services }: BuildContext,
  { agents, models, recipients }: AgentArea,
  { registry, policy, ruleOfTwo, invoke }: ToolArea,
) {
  const { storage, work, delivery, logs } = services
  const { store, createId, now } = storage
  const { runs, events, budgets, replyStreams, tracing } = work
  const { maxAttempts } = config.agents.defaults
  const log = logs.logFor('agents')
  const runTurn = createTurn({
    invoke,
    tools: (subject) => policy.listed(subject).map(({ tool }) => tool),
    describedBy: (subject) => describedBy(policy, subject),
    check: (subject, tool) => checkCall({ registry, policy, ruleOfTwo }, subject, tool),
    log,
  })
  const attempts = createAttempts({
    config,
    store,
    agents,
    models,
    policy,
    files: storage.files,
    canAsk: work.approvals.canAsk,
    narrowsChats: config.tools.narrowChats,
    budgets,
    starterRights: work.starterRights,
    isShared: storage.isShared,
    now,
    runTurn,
    replyStreams,
    onModelAnswer: runs.resumeProvider,
    approvals: services.work.approvals,
    limits: createRunLimits({ store, agents, log }),
    redactor: services.redactor,
    traceOfStep: tracing?.traceOfStep,
    onStep: (run, step) => {
      tracing?.step(run, step)
      if (storage.changes.steps.hasSubscribers()) storage.changes.steps.publish(toStepChange(run, step))
    },
    log,
  })
  const typing = createTyping({ connections: delivery.connections, log: logs.logFor('delivery') })
  const attempt: Attempt = (run, stop) => typing.during(run, () => attempts.run(run, stop))
  const current: Omit<CurrentRuntime, 'config' | 'policy' | 'acceptPayload'> = {
    attempt: tracing ? (run, stop) => tracing.attempt(run, () => attempt(run, stop)) : attempt,
    outcome: createOutcome({
      agents,
      recipients,
      isShared: storage.isShared,
      createId,
      now,
      onFailure: config.hooks.onFailure,
      approvals: work.approvals,
      log,
    }),
    resolveRecipient: recipients.resolve,
    receive: buildInbound({ config, services }, agents),
    mainSession: agents.default.mainSession,
  }
  const { leadership } = work
  const heartbeat = createHeartbeat({
    agents,
    events,
    runs,
    store,
    files: storage.files,
    leadership,
    createId,
    maxAttempts,
    now,
    log,
  })
  return { ...current, heartbeat, untilIdle: attempts.settled }
}

function buildInbound(
  { config, services }: Pick<BuildContext, 'config' | 'services'>,
  agents: AgentArea['agents'],
): Receive {
  const { storage, work, delivery, logs } = services
  const { store, createId } = storage
  const { runs } = work
  const log = logs.logFor('delivery')
  return createInbound({
    channels: config.channels,
    agents,
    store,
    accept: runs.accept,
    identities: delivery.identities,
    pairing: delivery.pairing,
    attachments: createAttachments({
      saveFile: (agentId, path, data) =>
        createWorkspace(agents.get(agentId).workspace, maxAttachmentBytes).write(path, data),
      downloads: delivery.downloads,
      log,
    }),
    commands: createChatCommands({ store, cancelRun: runs.cancel, createId }),
    answers: work.chatAnswers,
    onDeliveries: delivery.outbox.notify,
    maxAttempts: config.agents.defaults.maxAttempts,
    createId,
    routes: delivery.replyRoutes,
    log,
  })
}
