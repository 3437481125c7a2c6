// Encodes a column of several rows as an array in PostgreSQL's binary format. Its text format needs quotes and escapes,
// which take the server and the driver longer to read and to write.
import type { Value } from '../transaction.ts'

/** PostgreSQL's numbers for the types TEXT and BIGINT. */
const types = { text: 25, integer: 20 } as const

const headerBytes = 20
const nullBytes = -1

export function encodeArray(values: readonly Value[], type: keyof typeof types): Buffer {
  const storable = type === 'text' ? values.map((value) => toStorable(value === null ? null : String(value))) : values
  const sizes = storable.map((value) => (value === null ? nullBytes : type === 'text' ? byteLength(value) : 8))
  const buffer = Buffer.allocUnsafe(sizes.reduce((total, size) => total + 4 + Math.max(size, 0), headerBytes))
  // One dimension that starts at 1, and may contain NULL.
  let offset = 0
  for (const field of [1, 1, types[type], values.length, 1]) offset = buffer.writeInt32BE(field, offset)
  for (const [index, value] of storable.entries()) {
    offset = buffer.writeInt32BE(sizes[index] as number, offset)
    if (value === null) continue
    offset =
      type === 'text' ? offset + buffer.write(String(value), offset) : writeInteger(buffer, Number(value), offset)
  }
  return buffer
}

const byteLength = (value: string | number): number => Buffer.byteLength(String(value))

/** Of 64 bits. All of ours are exact as numbers. */
const writeInteger = (buffer: Buffer, value: number, offset: number): number =>
  buffer.writeUInt32BE(value >>> 0, buffer.writeInt32BE(Math.floor(value / 2 ** 32), offset))

/** PostgreSQL cannot store NUL characters in texts. JSON contains them only escaped. */
export const toStorable = <Other>(value: Other | string): Other | string =>
  typeof value === 'string' && value.includes('\0') ? value.replaceAll('\0', '\uFFFD') : value
