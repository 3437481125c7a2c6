// Reads how long a caller wants to wait for the outcome: `Prefer: wait=N` (RFC 7240).

const longestSeconds = 300

/** Whole seconds to wait, at most 300; undefined when none are asked for. What is not understood is ignored, as the RFC says. */
export function waitSeconds(prefer: string | undefined): number | undefined {
  if (!prefer) return undefined
  for (const preference of prefer.split(',')) {
    const seconds = /^\s*wait\s*=\s*"?(\d+)"?\s*(?:;.*)?$/i.exec(preference)?.[1]
    if (seconds !== undefined) return Math.min(Number(seconds), longestSeconds)
  }
  return undefined
}
