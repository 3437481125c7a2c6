// Stack traces of the build name its TypeScript sources. Node's own support reads every source map during the start;
// here, a map is read when the first stack trace that needs it is formatted.
import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

/** A call site, which has the text of a line in a stack trace. */
interface Frame {
  getFileName(): string | null
  toString(): string
}

const folder = new URL('./', import.meta.url).href

export function mapStackTraces(): void {
  const ownPosition = new RegExp(`${RegExp.escape(folder)}[\\w.-]+\\.js:\\d+:\\d+`, 'g')
  const maps = new Map<string, SourceMap | undefined>()

  /** `file:///…/dist/gateway.js:10:5` → `/…/core/gateway.ts:12:3`. Code without a map keeps its position. */
  function toSource(position: string): string {
    const [, url = '', line, column] = /^(.*):(\d+):(\d+)$/.exec(position) ?? []
    if (!maps.has(url)) maps.set(url, readMap(url))
    const entry = maps.get(url)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return position
    const source = fileURLToPath(new URL(entry.originalSource, url))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  }

  Error.prepareStackTrace = (error, frames: readonly Frame[]) => {
    const trace = [describeError(error), ...frames.map((frame) => `    at ${frame.toString()}`)].join('\n')
    return isBabel(frames[0]) ? trace : trace.replace(ownPosition, toSource)
  }
}

/** While Babel compiles a plugin, it reads stack traces that it shows nobody. */
const isBabel = (frame: Frame | undefined): boolean =>
  /[\\/]jiti[\\/]dist[\\/]babel\.cjs$/.test(frame?.getFileName() ?? '')

/** What was thrown may have a broken `toString` or getters that throw. */
function describeError(error: Error): string {
  try {
    return Error.prototype.toString.call(error)
  } catch {
    return 'Error'
  }
}

function readMap(url: string): SourceMap | undefined {
  try {
    return new SourceMap(JSON.parse(readFileSync(new URL(`${url}.map`), 'utf8')) as SourceMapPayload)
  } catch {
    return undefined
  }
}
