// Inside a child: where in its code a transform threw. Its own code sees no stack.
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

/** Only the start realm may ask for stacks; from now on they end up here, and errors show none. */
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
