// Draws QR codes as text for a terminal: byte mode, error correction level L, after ISO/IEC 18004.

/**
 * Two rows of the code become one line. Light squares are drawn and dark ones are spaces, as a dark terminal needs it.
 * Returns undefined for a text of more than 2953 bytes, which fits into no code.
 */
export function drawQrCode(text: string): string | undefined {
  const version = findVersion(Buffer.byteLength(text))
  if (version === undefined) return undefined
  const grid = createGrid(version)
  drawPatterns(grid, version)
  drawData(grid, addCorrection(encode(text, version), version))
  return drawText(grid)
}

/** Codewords of error correction in each block, and the number of blocks, by version from 1 to 40. */
const correctionSizes = [
  7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30, 30, 30, 30,
  30, 30, 30, 30, 30, 30, 30, 30, 30, 30,
]
const blockCounts = [
  1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19,
  20, 21, 22, 24, 25,
]

const layoutOf = (version: number) => ({
  correction: correctionSizes[version - 1] as number,
  blocks: blockCounts[version - 1] as number,
  total: countCodewords(version),
})

function countCodewords(version: number): number {
  const alignments = Math.floor(version / 7) + 2
  const patterns = version < 2 ? 0 : (25 * alignments - 10) * alignments - 55 + (version < 7 ? 0 : 36)
  return Math.floor(((16 * version + 128) * version + 64 - patterns) / 8)
}

function countData(version: number): number {
  const { total, correction, blocks } = layoutOf(version)
  return total - correction * blocks
}

const lengthBits = (version: number): number => (version < 10 ? 8 : 16)

const findVersion = (bytes: number): number | undefined =>
  correctionSizes
    .map((_, index) => index + 1)
    .find((version) => 4 + lengthBits(version) + 8 * bytes <= 8 * countData(version))

function encode(text: string, version: number): number[] {
  const bytes = Buffer.from(text)
  const bits = (value: number, length: number) => value.toString(2).padStart(length, '0')
  const head = bits(0b0100, 4) + bits(bytes.length, lengthBits(version))
  const all = head + Array.from(bytes, (byte) => bits(byte, 8)).join('')
  const size = countData(version)
  const padded = all.padEnd(Math.min(8 * size, all.length + 4), '0')
  const data = (padded.match(/.{1,8}/g) ?? []).map((byte) => Number.parseInt(byte.padEnd(8, '0'), 2))
  return [...data, ...Array.from({ length: size - data.length }, (_, index) => (index % 2 === 0 ? 0xec : 0x11))]
}

/** Splits the data into blocks, adds the error correction of each, and interleaves them. */
function addCorrection(data: readonly number[], version: number): number[] {
  const { correction, blocks, total } = layoutOf(version)
  const [shortBlocks, shortLength] = [blocks - (total % blocks), Math.floor(total / blocks) - correction]
  const divisor = createDivisor(correction)
  let from = 0
  const split = Array.from({ length: blocks }, (_, index) => {
    const length = shortLength + (index < shortBlocks ? 0 : 1)
    return data.slice(from, (from += length))
  })
  const interleave = (rows: readonly number[][], length: number) =>
    Array.from({ length }, (_, index) => rows.flatMap((row) => row.slice(index, index + 1))).flat()
  const remainders = split.map((block) => remainderOf(block, divisor))
  return [...interleave(split, shortLength + 1), ...interleave(remainders, correction)]
}

/** Multiplies in the field of 256 elements. */
function multiply(a: number, b: number): number {
  let product = 0
  for (let bit = 7; bit >= 0; bit--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> bit) & 1) * a)
  return product
}

function createDivisor(degree: number): number[] {
  const divisor: number[] = Array.from({ length: degree }, (_, index) => (index === degree - 1 ? 1 : 0))
  for (let step = 0, root = 1; step < degree; step++, root = multiply(root, 2))
    for (const [index, value] of divisor.entries()) divisor[index] = multiply(value, root) ^ (divisor[index + 1] ?? 0)
  return divisor
}

function remainderOf(data: readonly number[], divisor: readonly number[]): number[] {
  let rest = divisor.map(() => 0)
  for (const byte of data) {
    const factor = byte ^ (rest[0] as number)
    rest = divisor.map((value, index) => (rest[index + 1] ?? 0) ^ multiply(value, factor))
  }
  return rest
}

type Point = readonly [x: number, y: number]

/** Rows of squares: dark, light, or undefined while they are free for data. */
type Grid = (boolean | undefined)[][]

function createGrid(version: number): Grid {
  const length = 17 + 4 * version
  return Array.from({ length }, () => Array.from({ length }, () => undefined))
}

function drawPatterns(grid: Grid, version: number): void {
  const end = grid.length - 1
  const set = (x: number, y: number, isDark: boolean) => {
    if (grid[y] && x >= 0 && x <= end) grid[y][x] = isDark
  }
  const square = ([centreX, centreY]: Point, radius: number, isDark: (distance: number) => boolean) => {
    for (let dy = -radius; dy <= radius; dy++)
      for (let dx = -radius; dx <= radius; dx++)
        set(centreX + dx, centreY + dy, isDark(Math.max(Math.abs(dx), Math.abs(dy))))
  }
  for (let at = 0; at <= end; at++)
    for (const [x, y] of [
      [6, at],
      [at, 6],
    ] as const)
      set(x, y, at % 2 === 0)
  const corners = [
    [3, 3],
    [end - 3, 3],
    [3, end - 3],
  ] as const
  const centres = alignmentCentres(version, end)
  for (const y of centres)
    for (const x of centres) if (!isCorner(x, y, end)) square([x, y], 2, (distance) => distance !== 1)
  for (const corner of corners) square(corner, 4, (distance) => distance !== 2 && distance !== 4)
  for (const [index, isDark] of formatBits.entries()) {
    const [x, y] = index < 8 ? [8, index < 6 ? index : index + 1] : [index === 8 ? 7 : 14 - index, 8]
    set(x, y, isDark)
    if (index < 8) set(end - index, 8, isDark)
    else set(8, end - 14 + index, isDark)
  }
  set(8, end - 7, true)
  if (version >= 7)
    for (const [index, isDark] of versionBits(version).entries()) {
      const [a, b] = [end - 10 + (index % 3), Math.floor(index / 3)]
      set(a, b, isDark)
      set(b, a, isDark)
    }
}

const isCorner = (x: number, y: number, end: number): boolean =>
  (x === 6 && (y === 6 || y === end - 6)) || (x === end - 6 && y === 6)

function alignmentCentres(version: number, end: number): number[] {
  if (version === 1) return []
  const count = Math.floor(version / 7) + 2
  const step = Math.floor((version * 8 + count * 3 + 5) / (count * 4 - 4)) * 2
  return [6, ...Array.from({ length: count - 1 }, (_, index) => end - 6 - step * (count - 2 - index))]
}

const bitsOf = (value: number, count: number): boolean[] =>
  Array.from({ length: count }, (_, index) => ((value >>> index) & 1) === 1)

/** Level L with the mask 0, the only one used here: readers accept any. */
const formatBits = bitsOf(0b111011111000100, 15)

function versionBits(version: number): boolean[] {
  let rest = version
  for (let step = 0; step < 12; step++) rest = (rest << 1) ^ ((rest >>> 11) * 0x1f25)
  return bitsOf((version << 12) | rest, 18)
}

/** Fills the free squares in columns of two, upwards and downwards in turn. */
function drawData(grid: Grid, codewords: readonly number[]): void {
  const end = grid.length - 1
  let index = 0
  for (let right = end; right > 0; right -= right === 8 ? 3 : 2)
    for (let step = 0; step <= end; step++)
      for (const x of [right, right - 1]) {
        const isUpward = ((right < 6 ? right + 2 : right + 1) & 2) === 0
        const row = grid[isUpward ? end - step : step] as (boolean | undefined)[]
        if (row[x] !== undefined) continue
        const y = isUpward ? end - step : step
        const isSet = (((codewords[index >>> 3] ?? 0) >>> (7 - (index & 7))) & 1) === 1
        row[x] = isSet !== ((x + y) % 2 === 0)
        index++
      }
}

const margin = 2

function drawText(grid: Grid): string {
  const isLight = (x: number, y: number): boolean => grid[y]?.[x] !== true
  const line = (y: number): string =>
    Array.from({ length: grid.length + 2 * margin }, (_, at) => {
      const [upper, lower] = [isLight(at - margin, y), y + 1 < grid.length + margin && isLight(at - margin, y + 1)]
      return upper ? (lower ? '█' : '▀') : lower ? '▄' : ' '
    }).join('')
  const rows = Array.from({ length: Math.ceil(grid.length / 2) + margin }, (_, row) => line(2 * row - margin))
  return `${rows.join('\n')}\n`
}
