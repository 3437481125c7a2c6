// IPC frames are read as they were written, however the stream is split into chunks.
import { describe, expect, it } from 'vitest'
import { createFrameReader, type Frame, writeFrame } from '../../core/sandbox/ipc-frames.ts'
import { createRandom, seed } from '../config/random.ts'

describe('IPC frames', () => {
  it('survive any split of the stream', () => {
    const random = createRandom(seed)
    const upTo = (count: number): number => Math.floor(random() * count)
    for (let round = 0; round < 200; round++) {
      const sent = Array.from({ length: upTo(8) + 1 }, (_, id): Frame => ({
        id,
        kind: upTo(3),
        number: upTo(2 ** 32),
        first: Buffer.alloc(upTo(60), 97),
        second: Buffer.alloc(upTo(900), 98),
      }))
      const parts: Buffer[] = []
      for (const frame of sent) writeFrame(frame, (part) => parts.push(part))
      const stream = Buffer.concat(parts)
      const got: Frame[] = []
      const read = createFrameReader(10_000, (frame) => got.push(frame))
      for (let at = 0; at < stream.length;) {
        const next = Math.min(stream.length, at + 1 + upTo(random() < 0.5 ? 6 : 2000))
        read(stream.subarray(at, next))
        at = next
      }
      expect(got, `SEED=${seed}`).toEqual(sent)
    }
  })

  it.each([0, 15, 10_001, 0xffff_ffff])('are refused if their length is %d', (length) => {
    const header = Buffer.alloc(4)
    header.writeUInt32LE(length)
    expect(() => createFrameReader(10_000, () => undefined)(header)).toThrow('invalid length')
  })
})
