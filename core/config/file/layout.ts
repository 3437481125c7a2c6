// Finds the positions of keys in a JSON5 text, for the lines of errors and for edits.
import JSON5 from 'json5'

export interface Layout {
  /** The place of a key; for a missing key, the place of its innermost existing parent. */
  placeOf(keys: readonly string[]): Place
  /** The offset after the opening brace or bracket of a value; absent if it is not an object or list. */
  insideOf(keys: readonly string[]): number | undefined
  /** The position of a key; absent if it does not exist. */
  positionOf(keys: readonly string[]): KeyPosition | undefined
  /** Keys that appear twice in their object, in the order of the text. */
  repeated: readonly ({ keys: readonly string[] } & Place)[]
}

/** A position for people: both numbers start at 1, and a column is one UTF-16 code unit. */
export interface Place {
  line: number
  column: number
}

/** Offsets of the key, of its value, and of the end of the value. */
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
  const repeated: ({ keys: readonly string[] } & Place)[] = []
  const placeAt = (offset: number): Place => {
    const lines = text.slice(0, offset).split(lineBreak)
    return { line: lines.length, column: (lines.at(-1)?.length ?? 0) + 1 }
  }
  scan(text, (keys, entry) => {
    const inRepeated = repeated.some((outer) => outer.keys.every((key, index) => key === keys[index]))
    if (entries.has(id(keys)) && !inRepeated) repeated.push({ keys, ...placeAt(entry.offset) })
    entries.set(id(keys), entry)
  })
  const placeOf = (keys: readonly string[]): Place => {
    const entry = entries.get(id(keys))
    return entry ? placeAt(entry.offset) : placeOf(keys.slice(0, -1))
  }
  return {
    placeOf,
    insideOf: (keys) => entries.get(id(keys))?.inside,
    positionOf: (keys) => entries.get(id(keys))?.position,
    repeated,
  }
}

const lineBreak = /\r\n|[\n\r]/

const id = (keys: readonly string[]) => JSON.stringify(keys)

const spaceAndComments = /(?:\s|\/\/.*|\/\*[^]*?\*\/)*/y
const quoted = /"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'/y
const bare = /[^\s,:[\]{}/]+/y

/** Reports every value with its keys; objects and lists before their members. */
function scan(text: string, report: (keys: readonly string[], entry: Entry) => void): void {
  const { next, skip, read, offset } = createCursor(text)
  const value = (keys: readonly string[], start: number) => {
    const open = next()
    const position = { start, value: offset(), end: offset() }
    if (open !== '{' && open !== '[') {
      report(keys, { offset: start, position })
      if (!read(quoted)) read(bare)
      position.end = offset()
      return
    }
    skip(open)
    report(keys, { offset: start, inside: offset(), position })
    for (let index = 0; !'}]'.includes(next()); index++) {
      const begin = offset()
      const name = open === '{' ? nameOf(read(quoted), read(bare)) : String(index)
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

/** A position in the text that only moves forward. */
function createCursor(text: string) {
  let at = 0
  const read = (pattern: RegExp) => {
    pattern.lastIndex = at
    const found = pattern.exec(text)?.[0] ?? ''
    at += found.length
    return found
  }
  const next = () => {
    read(spaceAndComments)
    return text[at] ?? ''
  }
  const skip = (sign: string) => {
    if (next() === sign) at++
  }
  return { read, next, skip, offset: () => at }
}

const nameOf = (inQuotes: string, without: string) => JSON5.parse<string>(inQuotes || `"${without}"`)
