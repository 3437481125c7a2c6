// Encodes texts as an array in PostgreSQL's binary format. Its text format would need quotes and escapes.
import type { Value } from '../transaction.ts'

/** PostgreSQL's number for the type TEXT. */
const text = 25
const headerBytes = 20
const nullLength = -1

export function encodeTextArray(values: readonly Value[]): Buffer {
  const texts = values.map((value) => (value === null ? null : toStorable(String(value))))
  const sizes = texts.map((value) => (value === null ? nullLength : Buffer.byteLength(value)))
  const buffer = Buffer.allocUnsafe(sizes.reduce((total, size) => total + 4 + Math.max(size, 0), headerBytes))
  let offset = writeHeader(buffer, values.length)
  for (const [index, value] of texts.entries()) {
    const size = sizes[index] as number
    offset = buffer.writeInt32BE(size, offset)
    if (value !== null) offset += buffer.write(value, offset, size)
  }
  return buffer
}

/** One dimension that starts at 1, and may contain NULL. */
function writeHeader(buffer: Buffer, length: number): number {
  let offset = 0
  for (const field of [1, 1, text, length, 1]) offset = buffer.writeInt32BE(field, offset)
  return offset
}

/** PostgreSQL cannot store NUL characters in texts. JSON contains them only escaped. */
export const toStorable = (value: string): string => (value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value)
