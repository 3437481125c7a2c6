// Follows where the texts of a run's turn come from, and stores what the rule of two and later turns must know of it.
import type { TurnPlan } from '../agents/turn-plan.ts'
import type { ToolEffect } from '../plugin/plugin.ts'
import { joinTurn, type Provenance, type TurnProvenance } from '../store/provenance.ts'
import type { Store } from '../store/store.ts'
import { type CallSources, createTurnSources, type TurnSources } from '../tools/turn-sources.ts'
import type { Subject } from '../tools/subject.ts'
import { waitForStore } from './turn-context.ts'

interface TurnToOpen {
  plan: Pick<TurnPlan, 'rights' | 'visible' | 'tasks'>
  /** Of what tools have returned in earlier attempts. */
  read: Provenance | undefined
  /** True: the sender of the webhook reads the reply, which therefore counts as sent. */
  isAwaited: boolean
  signal: AbortSignal
}

/** A prompt that holds both text from outside and private text counts as a read of private data. */
export async function openTurnSources(
  store: Pick<Store, 'useEffects' | 'recordProvenance'>,
  { plan: { rights, visible, tasks }, read, isAwaited, signal }: TurnToOpen,
): Promise<TurnSources> {
  let isObserved = false
  const recorded = new Set<ToolEffect>()
  const { scope } = rights
  const recordEffects = async (isPrivate: boolean): Promise<void> => {
    if (!sources.subject().scopes) return
    isObserved = true
    const all: ToolEffect[] = [
      ...(isPrivate ? (['reads-private'] as const) : []),
      ...(isAwaited ? (['sends'] as const) : []),
    ]
    const effects = all.filter((effect) => !recorded.has(effect))
    if (effects.length === 0) return
    await store.useEffects({ scopes: [scope], effects, force: true })
    for (const effect of effects) recorded.add(effect)
  }
  const sources = createTurnSources({
    ...rights,
    visible,
    tasks,
    read,
    record: (returned) =>
      waitForStore(async () => {
        // What the tools have read before the first text from outside was not recorded. Both are one commit.
        const effects = recordEffects(!isObserved || returned.isPrivate)
        await Promise.all([store.recordProvenance(scope, returned), effects])
      }, signal),
  })
  await waitForStore(() => recordEffects(joinTurn(sources.provenance()).isPrivate), signal)
  return sources
}

/** The provenance of all that the turn has read, and may therefore write now. */
export async function settleProvenance(
  store: Pick<Store, 'getExposure'>,
  { provenance, subject }: Pick<CallSources, 'provenance'> & { subject(): Subject },
): Promise<TurnProvenance> {
  const { own, seen } = provenance()
  const isPrivate = own.isPrivate || (await holdsPrivateText(store, subject()))
  return { own: { ...own, isPrivate }, seen }
}

/** Only of a turn that sees text from outside is it recorded what its tools have read. */
async function holdsPrivateText(store: Pick<Store, 'getExposure'>, { scopes }: Subject): Promise<boolean> {
  const [scope] = scopes ?? []
  return scope === undefined || (await store.getExposure(scope))?.readsPrivate === true
}
