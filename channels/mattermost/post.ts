// A post of Mattermost, as it comes from outside.

/** A post as events and the REST API contain it; only what is read here. */
export interface Post {
  id: string
  channel_id: string
  user_id: string
  create_at: number
  message?: unknown
  root_id?: unknown
  type?: unknown
  delete_at?: unknown
  props?: Record<string, unknown> | null
  file_ids?: unknown
  metadata?: { files?: unknown; embeds?: unknown } | null
}

export const isId = (value: unknown): value is string => typeof value === 'string' && /^[a-z0-9]{26}$/.test(value)

export function isPost(value: unknown): value is Post {
  if (typeof value !== 'object' || value === null) return false
  const { id, channel_id: channel, user_id: user, create_at: at } = value as Record<string, unknown>
  return [id, channel, user].every(isId) && Number.isSafeInteger(at)
}
