// Downloads attachments, only from Discord's own servers.
import type { Attachment } from 'svc-gateway/plugin'

const cdnHosts: ReadonlySet<string> = new Set(['cdn.discordapp.com', 'media.discordapp.net'])

/** Undefined for any other address, so that a message cannot make the gateway call a server of its choice. */
export const downloadFrom = (url: string, apiRoot: string): Attachment['read'] | undefined =>
  isOfDiscord(url, apiRoot) ? (signal) => fetch(url, { signal, redirect: 'error' }) : undefined

function isOfDiscord(url: string, apiRoot: string): boolean {
  const parsed = URL.parse(url)
  if (!parsed) return false
  return parsed.origin === URL.parse(apiRoot)?.origin || (parsed.protocol === 'https:' && cdnHosts.has(parsed.host))
}
