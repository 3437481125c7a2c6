// Shows what a run would come to if it began now: what the model would read, which tools it could use, where its reply
// would go.
import type { Budgets } from '../budgets/budgets.ts'
import { viewBudget } from '../budgets/view.ts'
import type { Recipients } from '../delivery/recipient.ts'
import { limitCharacters } from '../store/store.ts'
import type { NewEvent, NewRun, Store } from '../store/store.ts'
import type { Policy } from '../tools/policy.ts'
import type { RuleOfTwo } from '../tools/rule-of-two.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { createHeartbeatSpec, readHeartbeatNotes } from '../agents/heartbeat-prompt.ts'
import type { Models } from '../agents/models.ts'
import { isExternalSession, startsWithPrivateData } from '../agents/exposure.ts'
import { eventBatch } from '../agents/prompt.ts'
import { subjectOfTurn } from '../agents/turn.ts'
import { planTurn, type TurnPlan } from '../agents/turn-plan.ts'
import type { TurnPreview } from './turn-preview.ts'

/** Reads, and changes nothing. */
export interface Preview {
  run(run: NewRun): Promise<TurnPreview>
  /**
   * The periodic check that would read these events, after those that wait already; of events for several sessions the
   * first one's.
   */
  heartbeat(arriving: readonly NewEvent[]): Promise<TurnPreview>
}

interface PreviewDeps {
  store: Pick<Store, 'listWaitingEvents' | 'getExposure'>
  agents: Agents
  models: Models
  recipients: Pick<Recipients, 'resolve'>
  policy: Pick<Policy, 'listed'>
  ruleOfTwo: Pick<RuleOfTwo, 'explain'>
  budgets: Pick<Budgets, 'listFor'>
}

export function createPreview({ store, agents, models, recipients, policy, ruleOfTwo, budgets }: PreviewDeps): Preview {
  async function preview(
    run: Pick<NewRun, 'id' | 'kind' | 'sessionKey' | 'spec'>,
    agent: Agent,
    arriving: readonly NewEvent[],
  ): Promise<TurnPreview> {
    const { spec, sessionKey, kind } = run
    const waiting = await store.listWaitingEvents(sessionKey, eventBatch)
    const all = [...waiting, ...arriving.map((event) => ({ ...event, at: Date.now() }))]
    const events = limitCharacters(all.slice(0, eventBatch.count), eventBatch.characters)
    const notes = kind === 'heartbeat' ? await readHeartbeatNotes(agent, sessionKey) : undefined
    const plan = planTurn(
      { models, policy },
      { run, agent, events, notes, isExternalSession: await isExternalSession({ store, agents }, sessionKey) },
    )
    const withheld = await withheldFrom(plan, run)
    const tallies = await budgets.listFor({ agentId: agent.id, spec })
    return {
      prompt: plan.prompt,
      model: plan.model.ref,
      thinking: plan.thinking,
      timeoutSeconds: spec.timeoutSeconds ?? agent.timeoutSeconds,
      tools: policy.listed(subjectOfTurn(plan)).map(({ tool }) => tool.name),
      ...(withheld && { withheld }),
      ...(spec.deliver && { delivery: await deliveryOf(spec.deliver) }),
      ...(tallies.length > 0 && { budgets: tallies.map(viewBudget) }),
    }
  }

  async function withheldFrom(
    plan: TurnPlan,
    { id, spec }: Pick<NewRun, 'id' | 'spec'>,
  ): Promise<string[] | undefined> {
    const [scope] = plan.from.scopes ?? []
    if (scope === undefined) return undefined
    const used = (await startsWithPrivateData(store, { run: { id, spec }, scope }))
      ? { readsPrivate: true, sends: false }
      : undefined
    const subject = subjectOfTurn(plan)
    const entries = policy.listed(subject)
    const verdicts = await Promise.all(entries.map((entry) => ruleOfTwo.explain(entry, subject, used)))
    return entries.flatMap(({ tool }, index) => (verdicts[index]?.verdict === 'deny' ? [tool.name] : []))
  }

  async function deliveryOf(wanted: NonNullable<NewRun['spec']['deliver']>): Promise<TurnPreview['delivery']> {
    const found = await recipients.resolve(wanted)
    if (!('address' in found)) return { channel: found.channel, to: found.to, reason: found.reason }
    const { channel, accountId, to, threadId } = found.address
    return { channel, accountId, to, ...(threadId !== null && { threadId }) }
  }

  return {
    run: (run) => preview(run, agents.get(run.agentId), []),
    heartbeat: (arriving) => {
      const [first] = arriving
      const agent = agents.get(first?.agentId)
      const sessionKey = first?.sessionKey ?? agent.mainSession
      const spec = createHeartbeatSpec(agent.id, agent.heartbeat)
      const here = arriving.filter((event) => event.sessionKey === sessionKey && event.agentId === first?.agentId)
      return preview({ id: '', kind: 'heartbeat', sessionKey, spec }, agent, here)
    },
  }
}
