// Follows where the texts of a run's turn come from, and stores what the rule of two and later turns must know of it.
import type { TurnPlan } from '../agents/turn-plan.ts'
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
  const { scope } = rights
  const recordEffects = async (isPrivate: boolean): Promise<void> => {
    if (!sources.subject().scopes) return
    isObserved = true
    const effects = [...(isPrivate ? (['reads-private'] as const) : []), ...(isAwaited ? (['sends'] as const) : [])]
    if (effects.length > 0) await store.useEffects({ scopes: [scope], effects, force: true })
  }
  const sources = createTurnSources({
    ...rights,
    visible,
    tasks,
    read,
    record: (returned) =>
      waitForStore(async () => {
        await store.recordProvenance(scope, returned)
        // What the tools have read before the first text from outside was not recorded.
        await recordEffects(!isObserved || returned.isPrivate)
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
