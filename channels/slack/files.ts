// Downloads files that people attach, and uploads those that agents send.
import type { WebClient } from '@slack/web-api'
import { fetchFile } from 'svc-gateway/kit'

/** A file as an event describes it; only what is read here. */
export interface SlackFile {
  id?: unknown
  name?: unknown
  mimetype?: unknown
  size?: unknown
  mode?: unknown
  /** `check_file_info`: the event does not describe the file, because another organization has shared it. */
  file_access?: unknown
  url_private?: unknown
  url_private_download?: unknown
}

/**
 * Returns a function that starts the download of a file. The token is sent only to Slack, whatever the event or a
 * redirect says: without it, Slack's hosts answer with the page to sign in.
 */
export function createFileReader({ botToken, apiRoot }: { botToken: string; apiRoot: string }) {
  return async (file: SlackFile, signal: AbortSignal): Promise<Response> => {
    const headers = { authorization: `Bearer ${botToken}` }
    const address = String(file.url_private_download ?? file.url_private)
    const response = await fetchFile(address, { isOwn: (url) => isOfSlack(url, apiRoot), headers, signal })
    // Without the scope `files:read`, Slack answers with its sign-in page.
    const isPage = response.headers.get('content-type')?.startsWith('text/html')
    if (isPage && file.mimetype !== 'text/html') {
      await response.body?.cancel()
      throw new Error('The app may not read files.')
    }
    return response
  }
}

/** Slack serves files from each of these, with the token. Its cloud for governments is another one. */
const fileHosts = /(?:^|\.)(?:slack|slack-files|slack-edge)\.com$/
const governmentHosts = /(?:^|\.)slack-gov\.com$/

function isOfSlack(url: URL, apiRoot: string): boolean {
  const root = new URL(apiRoot)
  const hosts = governmentHosts.test(root.hostname) ? governmentHosts : fileHosts
  return url.origin === root.origin || (url.protocol === 'https:' && hosts.test(url.hostname))
}

/** Uploads the bytes. Nobody sees the file until it is shared. */
export async function uploadFile(web: WebClient, file: { name: string; data: Uint8Array }): Promise<string> {
  const { upload_url: url, file_id: id } = await web.files.getUploadURLExternal({
    filename: file.name,
    length: file.data.byteLength,
  })
  if (!url || !id) throw new Error('Slack gave no address for the file.')
  const response = await fetch(url, { method: 'POST', body: file.data as Uint8Array<ArrayBuffer>, redirect: 'error' })
  await response.body?.cancel()
  if (!response.ok) throw new Error(`Slack answered ${response.status}.`)
  return id
}
