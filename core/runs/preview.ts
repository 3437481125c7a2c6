// Shows what a run would come to if it began now: what the model would read, which tools it could use, where its reply
// would go.
import type { Budgets } from '../budgets/budgets.ts'
import { viewBudget } from '../budgets/view.ts'
import type { Recipients } from '../delivery/recipient.ts'
import { limitCharacters } from '../store/store.ts'
import type { NewEvent, NewRun, Store } from '../store/store.ts'
import type { RuleOfTwo } from '../tools/rule-of-two.ts'
import type { Agent, Agents } from '../agents/agents.ts'
import { createHeartbeatSpec, readHeartbeatNotes } from '../agents/heartbeat-prompt.ts'
import { eventBatch } from '../agents/prompt.ts'
import { type PlanDeps, planTurn, type TurnPlan } from '../agents/turn-plan.ts'
import type { FileSources } from '../tools/file-sources.ts'
import { joinTurn } from '../store/provenance.ts'
import { subjectOfTurn } from '../tools/turn-sources.ts'
import { readHistory } from './turn-context.ts'
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

interface PreviewDeps extends PlanDeps {
  store: Pick<Store, 'listWaitingEvents' | 'listTranscript' | 'getState'>
  files: Pick<FileSources, 'find'>
  agents: Agents
  recipients: Pick<Recipients, 'resolve'>
  ruleOfTwo: Pick<RuleOfTwo, 'explain'>
  budgets: Pick<Budgets, 'listFor'>
}

export function createPreview(deps: PreviewDeps): Preview {
  const { store, agents, recipients, policy, ruleOfTwo, budgets } = deps

  async function preview(
    run: Pick<NewRun, 'id' | 'kind' | 'sessionKey' | 'spec'>,
    agent: Agent,
    arriving: readonly NewEvent[],
  ): Promise<TurnPreview> {
    const { spec, sessionKey, kind } = run
    const waiting = await store.listWaitingEvents(sessionKey, eventBatch)
    const all = [...waiting, ...arriving.map((event) => ({ ...event, at: Date.now() }))]
    const events = limitCharacters(all.slice(0, eventBatch.count), eventBatch.characters)
    const notes = kind === 'heartbeat' ? await readHeartbeatNotes(deps, agent, sessionKey) : undefined
    const { seen } = await readHistory(store, sessionKey, agent.history)
    const plan = planTurn(deps, { run, agent, events, notes, seen })
    const withheld = withheldFrom(plan)
    const tallies = await budgets.listFor({ agentId: agent.id, spec })
    return {
      prompt: plan.prompt,
      model: plan.model.ref,
      thinking: plan.thinking,
      timeoutSeconds: spec.timeoutSeconds ?? agent.timeoutSeconds,
      tools: policy.listed(subjectOfTurn(plan.rights, plan.visible)).map(({ tool }) => tool.name),
      ...(withheld && { withheld }),
      ...(spec.deliver && { delivery: await deliveryOf(spec.deliver) }),
      ...(tallies.length > 0 && { budgets: tallies.map(viewBudget) }),
    }
  }

  function withheldFrom({ rights, visible }: TurnPlan): string[] | undefined {
    const subject = subjectOfTurn(rights, visible)
    if (!subject.scopes) return undefined
    const used = { readsPrivate: joinTurn(visible).isPrivate, sends: false }
    const entries = policy.listed(subject)
    return entries.flatMap((entry) =>
      ruleOfTwo.explain(entry, subject, used).verdict === 'deny' ? [entry.tool.name] : [],
    )
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
