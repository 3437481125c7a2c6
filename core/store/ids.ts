// Creates time-ordered ids (UUID version 7), so that rows written together are stored together.
import { randomUUID } from 'node:crypto'

/** Ids of the same millisecond have no order among themselves. */
export function createId(): string {
  const time = Date.now().toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
