// The streamable HTTP transport of MCP, with bounded messages and redirects only within the origin of the server.
import type { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { markIntegersIn } from './exact-integers.ts'
import { maxMessageBytes } from './limits.ts'

type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'StreamableHTTPClientTransport'>

export interface HttpOptions {
  url: string
  headers: Record<string, string>
  /** Called when a message was too long: the call that waits for it will get no answer. */
  onTooLong: () => void
}

export function createHttpTransport(sdk: Sdk, { url, headers, onTooLong }: HttpOptions): StreamableHTTPClientTransport {
  const boundedFetch = async (target: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(target, init)
    if (!response.body) return response
    const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
    const bounded = new Response(response.body.pipeThrough(bound({ isStream, onTooLong })), response)
    return await markIntegersIn(bounded, isStream)
  }
  return new sdk.StreamableHTTPClientTransport(new URL(url), { requestInit: { headers }, fetch: boundedFetch })
}

/** In an event stream the limit applies to each event, so the count starts again after a blank line. */
function bound({
  isStream,
  onTooLong,
}: {
  isStream: boolean
  onTooLong: () => void
}): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let size = 0
  return new TransformStream({
    transform(chunk, controller) {
      size += chunk.length
      if (size > maxMessageBytes) {
        onTooLong()
        return controller.error(new Error(`the server sent a message of more than ${maxMessageBytes} bytes`))
      }
      if (isStream && endsEvent(chunk)) size = 0
      return controller.enqueue(chunk)
    },
  })
}

function endsEvent(chunk: Uint8Array): boolean {
  const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  return bytes.includes('\n\n') || bytes.includes('\r\n\r\n') || bytes.includes('\r\r')
}
