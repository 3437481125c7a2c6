// The IPC frames between gateway and child: a length, an id, a kind, a number and two byte strings.
import { Buffer } from 'node:buffer'

/** Requests of the gateway; a frame holds the index. `load` evaluates a module under an id, and `drop` removes it. */
export const requestKinds = ['load', 'drop', 'run'] as const
export type RequestKind = (typeof requestKinds)[number]

/** Outcomes of a request; a frame holds the index. A child sends `ready` once, when it is locked down. */
export const outcomes = ['ready', 'ok', 'compile', 'no_function', 'payload_mismatch', 'threw', 'bad_result'] as const
export type Outcome = (typeof outcomes)[number]

export interface Frame {
  /** Id of the request, repeated in its response; 0 in `ready`. */
  id: number
  /** Index in `requestKinds` or `outcomes`. */
  kind: number
  /** In a request, the module's id; in a response, the execution time in microseconds. */
  number: number
  /** In `load`, the name of the export; in `run`, the payload; in a response, the log lines. */
  first: Buffer
  /** In `load`, the code; in `run`, the rest of the input; in a response, the result or the error. */
  second: Buffer
}

export const logLevels = ['debug', 'info', 'warn', 'error'] as const

/** A line that a transform wrote to its console. */
export type LogLine = readonly [level: (typeof logLevels)[number], text: string]

/** A place in the bundled code, counted from 1. */
export interface Position {
  line: number
  column: number
}

/** A thrown value. */
export interface Thrown {
  name: string
  message: string
  /** Where it was thrown, then from where that was called, and so on; empty if unknown. */
  positions: readonly Position[]
}

/** The variable to which the code of a module assigns its exports. */
export const bundleName = '__transform'

/** Maximum length of a result's JSON, in UTF-16 code units. */
export const maxResultLength = 1_048_576
export const maxLogLines = 100
export const maxLineLength = 2000

const headerBytes = 20

export function writeFrame({ id, kind, number, first, second }: Frame, write: (part: Buffer) => void): void {
  const header = Buffer.allocUnsafe(headerBytes)
  header.writeUInt32LE(headerBytes - 4 + first.length + second.length, 0)
  header.writeUInt32LE(id, 4)
  header.writeUInt32LE(kind, 8)
  header.writeUInt32LE(number, 12)
  header.writeUInt32LE(first.length, 16)
  write(header)
  if (first.length > 0) write(first)
  if (second.length > 0) write(second)
}

/** Splits a stream of chunks into frames. The reader throws when a frame is larger than `maxBytes`. */
export function createFrameReader(maxBytes: number, onFrame: (frame: Frame) => void): (chunk: Buffer) => void {
  let chunks: Buffer[] = []
  let size = 0
  let needed = 4
  return (chunk) => {
    chunks.push(chunk)
    size += chunk.length
    if (size < needed) return
    let rest = chunks.length === 1 ? chunk : Buffer.concat(chunks, size)
    for (needed = frameLength(rest, maxBytes); rest.length >= needed; needed = frameLength(rest, maxBytes)) {
      onFrame(parseFrame(rest.subarray(0, needed)))
      rest = rest.subarray(needed)
    }
    chunks = [rest]
    size = rest.length
  }
}

/** Length of the frame at the start of `bytes`, or 4 if its length field is incomplete. */
function frameLength(bytes: Buffer, maxBytes: number): number {
  if (bytes.length < 4) return 4
  const length = 4 + bytes.readUInt32LE(0)
  if (length < headerBytes || length > maxBytes) throw new RangeError('The frame has an invalid length.')
  return length
}

function parseFrame(bytes: Buffer): Frame {
  const secondAt = headerBytes + bytes.readUInt32LE(16)
  return {
    id: bytes.readUInt32LE(4),
    kind: bytes.readUInt32LE(8),
    number: bytes.readUInt32LE(12),
    first: bytes.subarray(headerBytes, secondAt),
    second: bytes.subarray(secondAt),
  }
}
