// Time-ordered ids (UUID version 7): rows that are written together lie together.
import { randomFillSync } from 'node:crypto'

/** A generator of ids; ids of one millisecond have no order among themselves. */
export function createIds(): () => string {
  const pool = Buffer.alloc(4096)
  let used = pool.length
  let [now, time] = [0, '']
  return () => {
    if (used + 10 > pool.length) {
      randomFillSync(pool)
      used = 0
    }
    const random = pool.toString('hex', used, used + 10)
    used += 10
    if (now !== Date.now()) {
      now = Date.now()
      const digits = now.toString(16).padStart(12, '0')
      time = `${digits.slice(0, 8)}-${digits.slice(8)}`
    }
    const variant = '89ab'[Number.parseInt(random[3] as string, 16) & 3] as string
    return `${time}-7${random.slice(0, 3)}-${variant}${random.slice(4, 7)}-${random.slice(7, 19)}`
  }
}
