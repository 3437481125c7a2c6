// Finds where in its code a transform threw. The transform itself cannot read stacks.
import { sourceUrl } from './compartment.ts'

export interface Position {
  line: number
  column: number
}

interface CallSite {
  getScriptNameOrSourceURL?(): unknown
  getLineNumber(): number | null
  getColumnNumber(): number | null
}

/** Takes over `Error.prepareStackTrace`: positions are recorded here, and `error.stack` is empty from now on. */
export function createPositionFinder(): (error: unknown) => Position {
  const positions = new WeakMap<object, Position>()
  Error.prepareStackTrace = (error, sites) => {
    const site = (sites as unknown as CallSite[]).find((site) => site.getScriptNameOrSourceURL?.() === sourceUrl)
    if (site) positions.set(error, { line: site.getLineNumber() ?? 0, column: site.getColumnNumber() ?? 0 })
    return ''
  }
  return (error) => {
    if (!(error instanceof Error)) return noPosition
    void error.stack
    return positions.get(error) ?? noPosition
  }
}

const noPosition: Position = { line: 0, column: 0 }
