// The client of the Bot API, and what its errors mean. The messages of its network errors contain the bot token, so
// nobody passes them on.
import type { Api, InputFile } from 'grammy'
import { fetchFile } from 'svc-gateway/kit'

export interface Client {
  api: Api
  createFile(data: Uint8Array, name: string): InputFile
  /** Starts the download of a file that somebody sent. */
  download(fileId: string, signal: AbortSignal): Promise<Response>
  /** Closes all connections to Telegram. */
  close(): void
}

/** How an answer of Telegram says that a call failed. */
export interface ApiError {
  error_code: number
  description: string
  parameters: { retry_after?: number; migrate_to_chat_id?: number }
}

/** The library declares a signal of its own. It accepts Node's. */
export const grammySignal = (signal: AbortSignal) => signal as unknown as Parameters<Api['getMe']>[0]

/** Time limit of one call, in seconds. It allows for the upload of a large file. */
const timeoutSeconds = 180

export async function openClient({ botToken, apiRoot }: { botToken: string; apiRoot: string }): Promise<Client> {
  const { Api, InputFile } = await import('grammy')
  const root = apiRoot.replace(/\/+$/, '')
  const { Agent } = await (root.startsWith('https:') ? import('node:https') : import('node:http'))
  // With the library's own agent, connections would stay open after `close`.
  const agent = new Agent({ keepAlive: true })
  const api = new Api(botToken, { apiRoot: root, timeoutSeconds, baseFetchConfig: { agent } as object })
  return {
    api,
    createFile: (data, name) => new InputFile(data, name),
    async download(fileId, signal) {
      const { file_path: path } = await api.getFile(fileId, grammySignal(signal))
      const isOwn = (url: URL) => url.origin === new URL(root).origin
      return await fetchFile(`${root}/file/bot${botToken}/${path}`, { isOwn, signal })
    },
    close: () => agent.destroy(),
  }
}

/** @returns what Telegram answered, or undefined if there was no answer */
export function apiErrorOf(error: unknown): ApiError | undefined {
  const { error_code, description, parameters } = (error ?? {}) as Partial<ApiError>
  if (typeof error_code !== 'number') return undefined
  return { error_code, description: String(description), parameters: parameters ?? {} }
}
