// Downloads attachments, only from Discord's own servers.
import { fetchFile } from 'svc-gateway/kit'
import type { Attachment } from 'svc-gateway/plugin'

const cdnHosts: ReadonlySet<string> = new Set(['cdn.discordapp.com', 'media.discordapp.net'])

/** Undefined for any other address, so that a message cannot make the gateway call a server of its choice. */
export function downloadFrom(address: string, apiRoot: string): Attachment['read'] | undefined {
  const isOwn = (url: URL): boolean =>
    url.origin === URL.parse(apiRoot)?.origin || (url.protocol === 'https:' && cdnHosts.has(url.host))
  const url = URL.parse(address)
  return url && isOwn(url) ? (signal) => fetchFile(address, { isOwn, signal }) : undefined
}
