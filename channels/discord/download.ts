// Downloads attachments, only from Discord's own servers.
import type { Attachment } from 'svc-gateway/plugin'

const cdnHosts: ReadonlySet<string> = new Set(['cdn.discordapp.com', 'media.discordapp.net'])

/** Undefined for any other address, so that a message cannot make the gateway call a server of its choice. */
export function downloadFrom(url: string, limits: { apiRoot: string; size: number }): Attachment['read'] | undefined {
  return isOfDiscord(url, limits.apiRoot) ? (signal) => download(url, { size: limits.size, signal }) : undefined
}

function isOfDiscord(url: string, apiRoot: string): boolean {
  const parsed = URL.parse(url)
  if (!parsed) return false
  return parsed.origin === URL.parse(apiRoot)?.origin || (parsed.protocol === 'https:' && cdnHosts.has(parsed.host))
}

async function download(url: string, { size, signal }: { size: number; signal: AbortSignal }): Promise<Uint8Array> {
  const response = await fetch(url, { signal, redirect: 'error' })
  if (!response.ok) throw new Error(`Discord answered ${response.status}.`)
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > size) throw new Error('The file is larger than Discord said.')
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
