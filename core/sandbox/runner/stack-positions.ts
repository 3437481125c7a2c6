// Finds where in its code a transform threw. The transform itself cannot read stacks.
import type { Position } from '../ipc-frames.ts'
import { sourceUrl } from './compartment.ts'

interface CallSite {
  getScriptNameOrSourceURL?(): unknown
  getLineNumber(): number | null
  getColumnNumber(): number | null
}

/**
 * Takes over `Error.prepareStackTrace`: positions are recorded here, and `error.stack` is empty from now on. The function
 * returns where an error was thrown, then from where that was called, and so on.
 */
export function createPositionFinder(): (error: unknown) => Position[] {
  const positions = new WeakMap<object, Position[]>()
  Error.prepareStackTrace = (error, sites) => {
    const own = (sites as unknown as CallSite[]).filter((site) => site.getScriptNameOrSourceURL?.() === sourceUrl)
    positions.set(
      error,
      own.map((site) => ({ line: site.getLineNumber() ?? 0, column: site.getColumnNumber() ?? 0 })),
    )
    return ''
  }
  return (error) => {
    if (!(error instanceof Error)) return []
    void error.stack
    return positions.get(error) ?? []
  }
}
