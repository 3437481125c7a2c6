// Downloads files that people attach, and uploads those that agents send.
import type { WebClient } from '@slack/web-api'

/** A file as an event describes it; only what is read here. */
export interface SlackFile {
  name?: unknown
  mimetype?: unknown
  size?: unknown
  mode?: unknown
  url_private?: unknown
  url_private_download?: unknown
}

/** Returns a function that starts the download of a file. The token is sent only to Slack, whatever the event says. */
export function createFileReader({ botToken, apiRoot }: { botToken: string; apiRoot: string }) {
  return async (file: SlackFile, signal: AbortSignal): Promise<Response> => {
    const address = file.url_private_download ?? file.url_private
    const url = typeof address === 'string' ? URL.parse(address) : null
    if (!url || !isOfSlack(url, apiRoot)) throw new Error('The file is not stored at Slack.')
    const response = await fetch(url, { headers: { authorization: `Bearer ${botToken}` }, redirect: 'error', signal })
    // Without the scope `files:read`, Slack answers with its sign-in page.
    const isPage = response.headers.get('content-type')?.startsWith('text/html')
    if (isPage && file.mimetype !== 'text/html') {
      await response.body?.cancel()
      throw new Error('The app may not read files.')
    }
    return response
  }
}

const isOfSlack = (url: URL, apiRoot: string): boolean =>
  url.origin === new URL(apiRoot).origin || (url.protocol === 'https:' && /(?:^|\.)slack\.com$/.test(url.hostname))

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
