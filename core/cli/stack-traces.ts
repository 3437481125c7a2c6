// Stack traces of the build name its TypeScript sources. Node's own support reads every source map during the start;
// here, a map is read when the first stack trace that needs it is formatted.
import { readFileSync } from 'node:fs'
import { SourceMap, type SourceMapPayload } from 'node:module'
import { fileURLToPath } from 'node:url'

const folder = new URL('./', import.meta.url).href

export function mapStackTraces(): void {
  const maps = new Map<string, SourceMap | undefined>()

  /** `file:///…/dist/gateway.js:10:5` → `/…/core/gateway.ts:12:3`. Code without a map keeps its position. */
  function toSource(position: string, file: string, line: string, column: string): string {
    const url = `${folder}${file}`
    if (!maps.has(url)) maps.set(url, readMap(url))
    const entry = maps.get(url)?.findEntry(Number(line) - 1, Number(column) - 1)
    if (!entry || !('originalSource' in entry)) return position
    const source = fileURLToPath(new URL(entry.originalSource, url))
    return `${source}:${entry.originalLine + 1}:${entry.originalColumn + 1}`
  }

  Error.prepareStackTrace = (error, frames) =>
    [describeError(error), ...frames.map((frame) => `    at ${String(frame)}`)]
      .join('\n')
      .replace(new RegExp(`${RegExp.escape(folder)}([\\w.-]+\\.js):(\\d+):(\\d+)`, 'g'), toSource)
}

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
