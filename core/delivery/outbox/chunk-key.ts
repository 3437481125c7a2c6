// The idempotency key of one chunk of a delivery, which channels pass to their platform and may get back from it.

export const chunkKeyOf = (deliveryId: string, chunk: number): string => `${deliveryId}:${chunk}`

/** Undefined if it is no such key: platforms also report on messages that the gateway has not sent. */
export function parseChunkKey(key: unknown): { deliveryId: string; chunk: number } | undefined {
  const [, deliveryId, chunk] = typeof key === 'string' ? (/^(.+):(\d{1,9})$/.exec(key) ?? []) : []
  return deliveryId === undefined ? undefined : { deliveryId, chunk: Number(chunk) }
}
