// Random sequences of what people, webhooks and strangers do to three agents, from a seed, and how a failing one shrinks.

/** The tools whose permission the graphs vary. */
export const probes = ['do_0', 'do_1', 'do_2', 'do_3'] as const
export type Probe = (typeof probes)[number]

/** Who may not use which probes. The owner may use all of them. */
export interface Graph {
  /** By agent. */
  agents: readonly (readonly Probe[])[]
  /** What a webhook's run of each agent may not use. */
  hooks: readonly (readonly Probe[])[]
  /** The person with fewer rights. */
  anna: readonly Probe[]
  /** The members of a group. */
  team: readonly Probe[]
  /** Which agents have the tool of a remote MCP server, whose description is in each of their turns. */
  remote: readonly boolean[]
}

export type Person = 'owner' | 'anna'

export type Event = { agent: number } & (
  | { kind: 'webhook'; hook: 'hook1' | 'hook2'; isShared: boolean; wakeMode: 'now' | 'next-heartbeat'; waits: boolean }
  | { kind: 'chat'; who: Person; session: 'main' | 'hook1' | 'hook2' }
  | { kind: 'stranger' }
  | { kind: 'group' }
  | { kind: 'new'; where: 'group' | 'stranger' | 'friend' }
  | { kind: 'friend' }
  | { kind: 'write'; who: Person; file: string }
  | { kind: 'schedule'; who: Person }
  | { kind: 'subagent'; who: Person }
  | { kind: 'heartbeat' }
  | { kind: 'approval'; answer: 'deny' | 'call' | 'turn' }
)

export interface Sequence {
  seed: number
  graph: Graph
  events: readonly Event[]
}

export type Random = () => number

/** Mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

export const pick = <Item>(random: Random, items: readonly Item[]): Item =>
  items[Math.floor(random() * items.length)] as Item

export function createSequence(seed: number, length = 30): Sequence {
  const random = createRandom(seed)
  const some = () => probes.filter(() => random() < 0.35)
  const graph = {
    agents: [some(), some(), some()],
    hooks: [some(), some(), some()],
    anna: some(),
    team: some(),
    remote: [random() < 0.15, random() < 0.15, random() < 0.15],
  }
  return { seed, graph, events: Array.from({ length }, () => createEvent(random)) }
}

function createEvent(random: Random): Event {
  const agent = pick(random, [0, 1, 2])
  const who = pick(random, ['owner', 'owner', 'anna'] as const)
  const hook = pick(random, ['hook1', 'hook2'] as const)
  const kinds = ['webhook', 'webhook', 'chat', 'chat', 'stranger', 'group', 'friend', 'write', 'schedule'] as const
  const kind = pick(random, [...kinds, 'subagent', 'heartbeat', 'approval', 'new'] as const)
  if (kind === 'webhook') {
    const wakeMode = pick(random, ['now', 'next-heartbeat'] as const)
    return { kind, agent, hook, isShared: random() < 0.3, wakeMode, waits: random() < 0.5 }
  }
  if (kind === 'chat') return { kind, agent, who, session: pick(random, ['main', 'main', hook]) }
  if (kind === 'write') return { kind, agent, who, file: pick(random, ['note.md', 'HEARTBEAT.md']) }
  if (kind === 'approval') return { kind, agent, answer: pick(random, ['deny', 'deny', 'call', 'turn'] as const) }
  if (kind === 'new') return { kind, agent, where: pick(random, ['group', 'stranger', 'friend', 'friend'] as const) }
  if (kind === 'schedule' || kind === 'subagent') return { kind, agent, who }
  return { kind, agent }
}

/** Removes events, in ever smaller groups, as long as the sequence still fails. */
export async function shrink(sequence: Sequence, fails: (candidate: Sequence) => Promise<boolean>): Promise<Sequence> {
  let smallest = sequence
  for (let size = Math.ceil(sequence.events.length / 2); size >= 1; size = size === 1 ? 0 : Math.ceil(size / 2))
    for (let start = 0; start < smallest.events.length;) {
      const candidate = { ...smallest, events: smallest.events.toSpliced(start, size) }
      if (await fails(candidate)) smallest = candidate
      else start += size
    }
  return smallest
}
