// What gateway and child say to each other: frames of one length, three numbers and two parts, and the words for them.
import { Buffer } from 'node:buffer'

/**
 * What the gateway asks for; a frame holds the index. `load` makes a transform ready under a number, `drop` forgets it.
 */
export const requestKinds = ['load', 'drop', 'run'] as const
export type RequestKind = (typeof requestKinds)[number]

/** How a request ended; a frame holds the index. `ready` is said once, when the child has shut itself in. */
export const outcomes = ['ready', 'ok', 'compile', 'no_function', 'payload_mismatch', 'threw', 'bad_result'] as const
export type Outcome = (typeof outcomes)[number]

export interface Frame {
  /** Of the request, and again of its answer; 0 is that of `ready`. */
  id: number
  /** Index in `requestKinds` or `outcomes`. */
  kind: number
  /** Of a request the transform's number; of an answer the microseconds it took. */
  number: number
  /** Of `load` the name of the export; of `run` the payload; of an answer the lines that were logged. */
  first: Buffer
  /** Of `load` the code; of `run` the rest of the input; of an answer the result, or what went wrong. */
  second: Buffer
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const

/** A line that a transform wrote to its console. */
export type LogLine = readonly [level: (typeof logLevels)[number], text: string]

/**
 * What a child tells of something that was thrown. The place is one in the bundled code, both from 1, or 0 where it is
 * not known.
 */
export interface Thrown {
  name: string
  message: string
  line: number
  column: number
}

/** No transform may return more, in UTF-16 code units of its JSON. */
export const maxResultLength = 1_048_576
export const maxLogLines = 100
export const maxLineLength = 2000

const headBytes = 20

export function writeFrame({ id, kind, number, first, second }: Frame, write: (part: Buffer) => void): void {
  const head = Buffer.allocUnsafe(headBytes)
  head.writeUInt32LE(headBytes - 4 + first.length + second.length, 0)
  head.writeUInt32LE(id, 4)
  head.writeUInt32LE(kind, 8)
  head.writeUInt32LE(number, 12)
  head.writeUInt32LE(first.length, 16)
  write(head)
  if (first.length > 0) write(first)
  if (second.length > 0) write(second)
}

/**
 * Takes the stream as it comes and hands out whole frames. Throws when one is announced that is larger than `maxBytes`.
 */
export function createFrameReader(maxBytes: number, onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let size = 0
  let needed = 4
  return (chunk) => {
    chunks.push(chunk)
    size += chunk.length
    if (size < needed) return
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks, size)
    for (needed = lengthOf(rest, maxBytes); rest.length >= needed; needed = lengthOf(rest, maxBytes)) {
      onFrame(parseFrame(rest.subarray(0, needed)))
      rest = rest.subarray(needed)
    }
    chunks = [rest]
    size = rest.length
  }
}

/** Bytes of the frame that begins here; as long as they are not known, more than there are. */
function lengthOf(bytes: Buffer, maxBytes: number): number {
  if (bytes.length < 4) return 4
  const length = 4 + bytes.readUInt32LE(0)
  if (length < headBytes || length > maxBytes) throw new RangeError('A frame has an impossible length.')
  return length
}

function parseFrame(bytes: Buffer): Frame {
  const seam = headBytes + bytes.readUInt32LE(16)
  return {
    id: bytes.readUInt32LE(4),
    kind: bytes.readUInt32LE(8),
    number: bytes.readUInt32LE(12),
    first: bytes.subarray(headBytes, seam),
    second: bytes.subarray(seam),
  }
}
