// Translates between WhatsApp's ids of people and groups (JIDs) and the recipients that people write.
import { phoneNumber } from 'svc-gateway/kit'

/** The JID of a recipient: `+1555…` becomes `1555…@s.whatsapp.net`. */
export const toJid = (to: string): string => (to.includes('@') ? to : `${to.replace('+', '')}@s.whatsapp.net`)

/** The recipient behind a JID: a phone number where it has one, without the device. */
export function toAddress(jid: string): string {
  const { user, server } = parseJid(jid)
  return server === 's.whatsapp.net' ? `+${user}` : `${user}@${server}`
}

/** An id as people write it, or as Meta does: a number without `+`, or a JID. */
export const normalizeId = (id: string): string =>
  phoneNumber(id) ?? (id.includes('@') ? toAddress(id.replace(/@c\.us$/, '@s.whatsapp.net')) : id)

/** Parses `user:device@server`. */
export function parseJid(jid: string): { user: string; server: string } {
  const [name = '', server = ''] = jid.split('@')
  return { user: name.split(':')[0]?.split('_')[0] ?? '', server }
}

export const isNumber = (jid: string | null | undefined): jid is string => serverOf(jid) === 's.whatsapp.net'
export const isLid = (jid: string | null | undefined): jid is string => serverOf(jid) === 'lid'
export const isGroup = (jid: string | null | undefined): jid is string => serverOf(jid) === 'g.us'

const serverOf = (jid: string | null | undefined): string | undefined => (jid ? parseJid(jid).server : undefined)

/** Whether two JIDs are devices of one person. */
export const isSameUser = (left: string, right: string): boolean => toAddress(left) === toAddress(right)

/**
 * Whether an id names a person of the Cloud API who shows no number: a business-scoped user id, which is a country and
 * letters and digits; `ENT.` marks one that several businesses of a company share.
 */
export const isUserId = (id: string): boolean => /^[A-Z]{2}\.(ENT\.)?[A-Za-z0-9]{1,128}$/.test(id)

/** Whether an id names a group of the Cloud API: `capi_group:` and more, in base64. */
export const isCloudGroup = (id: string): boolean => /^Y2FwaV9ncm91cD[A-Za-z0-9+/=_-]{1,200}$/.test(id)
