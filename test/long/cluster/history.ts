// Checks the history of a cluster: what clients were told, what the model was asked, and what was stored and sent.

export interface History {
  /** Messages whose request was answered with 200, in the order in which each session's client sent them. */
  acknowledged: readonly Message[]
  /** The calls of the model. */
  turns: readonly Turn[]
  /** The messages of runs that succeeded, in the order of their ends. */
  succeeded: readonly Message[]
  /** The replies that arrived at the channel. */
  replies: readonly Message[]
}

/** A message of a session: the session's client sends 0, 1, 2 … */
export interface Message {
  session: string
  n: number
}

export interface Turn extends Message {
  startedAt: number
  endedAt: number
}

/** Returns a sentence for each violation. */
export function checkHistory({ acknowledged, turns, succeeded, replies }: History): string[] {
  return [
    ...findMissing(acknowledged, succeeded).map((name) => `${name} was acknowledged but did not succeed`),
    ...findRepeated(succeeded).map((name) => `${name} succeeded more than once`),
    ...findDisordered(succeeded).map((name) => `${name} ended before an earlier message of its session`),
    ...findOverlaps(turns).map((name) => `${name} started during another turn of its session`),
    ...findMissing(acknowledged, replies).map((name) => `${name} got no reply`),
    ...findRepeated(replies).map((name) => `${name} got more than one reply`),
  ]
}

const nameOf = ({ session, n }: Message): string => `${session}-${n}`

function findMissing(expected: readonly Message[], found: readonly Message[]): string[] {
  const names = new Set(found.map(nameOf))
  return expected.map(nameOf).filter((name) => !names.has(name))
}

function findRepeated(messages: readonly Message[]): string[] {
  const seen = new Set<string>()
  return messages.map(nameOf).filter((name) => seen.has(name) || !seen.add(name))
}

function findDisordered(messages: readonly Message[]): string[] {
  const last = new Map<string, number>()
  return messages
    .filter(({ session, n }) => {
      const previous = last.get(session) ?? -1
      last.set(session, Math.max(previous, n))
      return n < previous
    })
    .map(nameOf)
}

function findOverlaps(turns: readonly Turn[]): string[] {
  const busyUntil = new Map<string, number>()
  return turns
    .toSorted((one, other) => one.startedAt - other.startedAt)
    .filter(({ session, startedAt, endedAt }) => {
      const until = busyUntil.get(session) ?? -Infinity
      busyUntil.set(session, Math.max(until, endedAt))
      return startedAt < until
    })
    .map(nameOf)
}
