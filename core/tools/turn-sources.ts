// Where the texts of a turn came from, and what the turn may therefore do. It changes as tools return further texts.
import { joinProvenance, noProvenance, type Provenance, type TurnProvenance } from '../store/provenance.ts'
import { createNamedUrls, type IsNamedUrl } from './named-urls.ts'
import { narrow, type NarrowInput } from './narrow.ts'
import type { Subject } from './subject.ts'

export interface TurnSources {
  /** What the turn may do now. */
  subject(): Subject
  /** Call it before the model reads a text. Resolves when the text counts. */
  add(provenance: Provenance): Promise<void>
  provenance(): TurnProvenance
  /** Whether the URL was named to the turn by people, or by the operator. */
  isNamedUrl: IsNamedUrl
}

/** What a tool learns and reports of the texts of the turn that calls it. */
export type CallSources = Pick<TurnSources, 'add' | 'provenance' | 'isNamedUrl'>

/** How a turn is narrowed, apart from its texts. */
export interface TurnRights extends Omit<NarrowInput, 'visible'> {
  /** True: a person has accepted, for this turn, what its texts would take away. */
  isLifted: boolean
}

interface TurnSourcesDeps extends TurnRights {
  /** What the turn begins with. */
  visible: TurnProvenance
  /** The texts of people and of the operator that say what the turn is to do. */
  tasks: readonly string[]
  /** Of what tools have returned in earlier attempts. */
  read: Provenance | undefined
  /** Stores what tools have returned. */
  record(read: Provenance): Promise<void>
}

export function createTurnSources({
  visible,
  tasks,
  read = noProvenance,
  record,
  ...rights
}: TurnSourcesDeps): TurnSources {
  let own = joinProvenance(visible.own, read)
  let returned = read
  const resolveSubject = () =>
    subjectOfTurn({ ...rights, hasReadPrivate: returned.isPrivate }, { own, seen: visible.seen })
  let subject = resolveSubject()
  return {
    subject: () => subject,
    add: async (provenance) => {
      const next = joinProvenance(returned, provenance)
      if (JSON.stringify(next) === JSON.stringify(returned)) return
      returned = next
      own = joinProvenance(own, next)
      subject = resolveSubject()
      await record(next)
    },
    provenance: () => ({ own, seen: visible.seen }),
    isNamedUrl: createNamedUrls(tasks),
  }
}

/** What a turn with these texts may do. */
export const subjectOfTurn = ({ isLifted, ...rights }: TurnRights, { own, seen }: TurnProvenance): Subject => ({
  ...narrow({ ...rights, visible: joinProvenance(own, seen) }),
  ...(isLifted && { isLifted }),
})
