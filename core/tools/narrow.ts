// Narrows a turn: from where its texts came, to what it may do.
import { authorOf, type Provenance } from '../store/provenance.ts'
import type { Initiator } from '../store/run-spec.ts'
import type { Narrowing, Subject } from './subject.ts'

export interface NarrowInput {
  /** The turn without its texts: who started it, in which session. */
  starter: Subject
  /** Of all texts that its model reads. */
  visible: Provenance
  /** True: a tool of the turn has read something private. */
  hasReadPrivate?: boolean
  /** The scope of the rule of two for this turn: the id of its run. */
  scope: string
  /** What happens to calls that only the texts forbid. */
  mode: Narrowing['mode']
  /** False: only the rule of two applies (`tools.narrowChats`). */
  narrows: boolean
}

/** The rights of a turn. They are never more than those of who started it, and had it started. */
export function narrow({ starter, visible, hasReadPrivate = false, scope, mode, narrows }: NarrowInput): Subject {
  const { outside } = visible
  const known = new Set([starter, ...(starter.initiators ?? [])].map((one) => JSON.stringify(authorOf(one))))
  const authors = visible.authors.filter((author) => !known.has(JSON.stringify(author)))
  const scopes = outside.length > 0 || starter.fromHook ? [scope, ...(starter.scopes ?? [])] : starter.scopes
  const narrowing = { sources: outside, hasReadPrivate, mode, ...(narrows ? { outside, authors } : noTexts) }
  return {
    ...starter,
    ...(scopes && { scopes }),
    ...((outside.length > 0 || authors.length > 0) && { narrowing }),
  }
}

const noTexts = { outside: [], authors: [] }

/** What narrows a turn, in words: `text from webhook github and from the client anna`. */
export function describeNarrowing({ outside, authors }: Pick<Narrowing, 'outside' | 'authors'>): string {
  const all = [...outside, ...authors.map(nameAuthor)]
  const [names, more] = [all.slice(0, 3), all.length - 3]
  return `text from ${names.join(' and from ')}${more > 0 ? ` and ${more} more` : ''}`
}

/** `the client anna`, `the group agent:main:slack:group:c42`, `the agent ops`. */
export function nameAuthor({ client, sessionKey, agentId }: Initiator): string {
  if (client !== undefined) return `the client ${client}`
  if (/:(?:group|channel):/.test(sessionKey)) return `the group ${sessionKey}`
  return agentId === '' ? 'too many authors' : `the agent ${agentId}`
}
