// Where each key of a JSON5 text stands: the line that an error names, and the place where a key can be written in.
import JSON5 from 'json5'

export interface Layout {
  /** The line of a key, from 1; for a key that is not there, that of the innermost object that would hold it. */
  lineOf(keys: readonly string[]): number
  /** Offset just behind the opening brace or bracket of a value; absent when there is no such object or list. */
  insideOf(keys: readonly string[]): number | undefined
  /** Where a key stands in the text; absent when it is not there. */
  positionOf(keys: readonly string[]): KeyPosition | undefined
  /** Keys that their object has already, in the order of the text. */
  repeated: readonly { keys: readonly string[]; line: number }[]
}

/** Offsets: the key, its value, and just behind the value. */
export interface KeyPosition {
  start: number
  value: number
  end: number
}

interface Entry {
  offset: number
  inside?: number
  position: KeyPosition
}

/** Reads the layout of a text that is known to be valid JSON5. */
export function readLayout(text: string): Layout {
  const entries = new Map<string, Entry>()
  const repeated: { keys: readonly string[]; line: number }[] = []
  const lineAt = (offset: number) => text.slice(0, offset).split(/\r\n|[\n\r]/).length
  scan(text, (keys, entry) => {
    const inRepeated = repeated.some((outer) => outer.keys.every((key, index) => key === keys[index]))
    if (entries.has(id(keys)) && !inRepeated) repeated.push({ keys, line: lineAt(entry.offset) })
    entries.set(id(keys), entry)
  })
  const lineOf = (keys: readonly string[]): number => {
    const entry = entries.get(id(keys))
    return entry ? lineAt(entry.offset) : lineOf(keys.slice(0, -1))
  }
  return {
    lineOf,
    insideOf: (keys) => entries.get(id(keys))?.inside,
    positionOf: (keys) => entries.get(id(keys))?.position,
    repeated,
  }
}

const id = (keys: readonly string[]) => JSON.stringify(keys)

const spaceAndComments = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y
const quoted = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/y
const bare = /[^\s,:[\]{}/]+/y

/** Reports every value with its keys: objects and lists before what is in them. */
function scan(text: string, report: (keys: readonly string[], entry: Entry) => void): void {
  const { next, skip, take, offset } = createCursor(text)
  const value = (keys: readonly string[], start: number) => {
    const open = next()
    const position = { start, value: offset(), end: offset() }
    if (open !== '{' && open !== '[') {
      report(keys, { offset: start, position })
      if (!take(quoted)) take(bare)
      position.end = offset()
      return
    }
    skip(open)
    report(keys, { offset: start, inside: offset(), position })
    for (let index = 0; !'}]'.includes(next()); index++) {
      const begin = offset()
      const name = open === '{' ? nameOf(take(quoted), take(bare)) : String(index)
      skip(':')
      value([...keys, name], begin)
      skip(',')
    }
    skip(open === '{' ? '}' : ']')
    position.end = offset()
  }
  next()
  value([], offset())
}

/** A place in a text that only moves on. */
function createCursor(text: string) {
  let at = 0
  const take = (pattern: RegExp) => {
    pattern.lastIndex = at
    const taken = pattern.exec(text)?.[0] ?? ''
    at += taken.length
    return taken
  }
  const next = () => {
    take(spaceAndComments)
    return text[at] ?? ''
  }
  const skip = (sign: string) => {
    if (next() === sign) at++
  }
  return { take, next, skip, offset: () => at }
}

const nameOf = (inQuotes: string, without: string) => JSON5.parse<string>(inQuotes || `"${without}"`)
