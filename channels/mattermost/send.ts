// Sends text and files, and finds out afterwards whether a message with an unknown result has arrived.
import { type Connection, type OutboundMessage, type SendResult } from 'svc-gateway/plugin'
import { resultOfError, resultOfResponse } from 'svc-gateway/kit'
import { type Api, isFinal, StatusError } from './api.ts'
import type { Directory } from './directory.ts'

interface SenderDeps {
  api: Api
  directory: Pick<Directory, 'channelOf'>
  botUserId: string
}

/** The property of a post that carries the key of a message. */
const keyName = 'svc_gateway_key'

/** For a preview, the server would fetch an address that the agent wrote, before anybody has opened it. */
const withoutPreviews = { unsafe_links: 'true' }

export function createSender({ api, directory, botUserId }: SenderDeps): Pick<Connection, 'send' | 'reconcile'> {
  async function prepare({ to, file }: OutboundMessage): Promise<{ channel_id: string; file_ids?: string[] }> {
    const channel_id = await directory.channelOf(to)
    return file ? { channel_id, file_ids: [await uploadFile(api, { channel_id, file })] } : { channel_id }
  }

  async function send(message: OutboundMessage): Promise<SendResult> {
    const { key, text, threadId } = message
    let prepared: Awaited<ReturnType<typeof prepare>>
    try {
      prepared = await prepare(message)
    } catch (error) {
      // Nobody has seen anything yet.
      const result = toUnsent(error)
      return result.outcome === 'unknown' ? { ...result, outcome: 'failed', reason: 'transient' } : result
    }
    try {
      const { id } = await api.post<{ id: string }>('posts', {
        ...prepared,
        message: text,
        ...(threadId !== undefined && { root_id: threadId }),
        props: { [keyName]: key, ...withoutPreviews },
        // For 30 seconds, the server drops a second post with this id.
        pending_post_id: `${botUserId}:${key}`,
      })
      return { outcome: 'sent', id }
    } catch (error) {
      return toUnsent(error)
    }
  }

  return { send, reconcile: createReconcile({ api, directory, botUserId }) }
}

async function uploadFile(
  api: Api,
  { channel_id, file }: { channel_id: string; file: NonNullable<OutboundMessage['file']> },
): Promise<string> {
  const form = new FormData()
  form.set('channel_id', channel_id)
  form.set('files', new Blob([file.data], { type: file.type }), file.name)
  const { file_infos: files } = await api.post<{ file_infos: { id: string }[] }>('files', form)
  if (!files[0]) throw new Error('Mattermost stored no file.')
  return files[0].id
}

type Unsent = Exclude<SendResult, { outcome: 'sent' }>

/** An error 500 leaves it open, also the one that says that the server still works on the first of two equal posts. */
function toUnsent(error: unknown): Unsent {
  if (!(error instanceof StatusError)) return resultOfError(error)
  const result = { ...resultOfResponse(error), detail: error.message }
  // The account may not write there; its token is fine.
  return error.status === 403 ? { outcome: 'failed', reason: 'permanent', detail: error.message } : result
}

/** How far the clocks of Mattermost and of the gateway may differ. */
const clockSkewMs = 10 * 60_000
const pageSize = 200
const longestSearch = 25

interface Page {
  posts?: Record<string, { user_id?: unknown; create_at?: number; props?: Record<string, unknown> | null }>
}

/** Threads are part of their channel's posts. */
function createReconcile({ api, directory, botUserId }: SenderDeps): NonNullable<Connection['reconcile']> {
  return async ({ key, to, firstAttemptAt }) => {
    try {
      const channel = await directory.channelOf(to)
      const oldest = firstAttemptAt - clockSkewMs
      for (let page = 0; page < longestSearch; page++) {
        const query = `page=${page}&per_page=${pageSize}&skipFetchThreads=true`
        const { posts = {} } = await api.get<Page>(`channels/${channel}/posts?${query}`)
        const found = Object.values(posts)
        if (found.some(({ user_id: user, props }) => user === botUserId && props?.[keyName] === key)) return 'sent'
        if (found.length < pageSize || found.some((post) => Number(post.create_at) < oldest)) return 'absent'
      }
      return 'unknown'
    } catch (error) {
      if (isFinal(error)) return 'unknown'
      throw error
    }
  }
}
