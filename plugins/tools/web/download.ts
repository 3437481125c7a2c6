// Downloads one page over HTTP, within limits of time and size. Every redirect is checked before it is followed.
import type { IncomingMessage, RequestOptions } from 'node:http'
import { isIP } from 'node:net'
import { InputError } from 'svc-gateway/plugin'
import { type Addresses, PrivateAddressError } from './addresses.ts'

export interface DownloadLimits {
  /** How many bytes are read; the rest is discarded. */
  maxBytes: number
  maxRedirects: number
  /** Ends the download with the reason of the signal. */
  signal: AbortSignal
  addresses: Addresses
  /** Hosts, with or without a port, that may have private addresses. */
  allowHosts: readonly string[]
  /** The headers that continue the trace of the call at this address. */
  traceHeaders(url: URL): Record<string, string> | undefined
}

export interface Download {
  /** The final URL, after redirects. */
  url: string
  status: number
  contentType: string
  body: Buffer
  /** `true` if the page was longer. */
  cut: boolean
}

export async function download(address: string, limits: DownloadLimits): Promise<Download> {
  let url = readUrl(address)
  for (let hop = 0; hop <= limits.maxRedirects; hop++) {
    const response = await request(url, limits)
    const target = redirectOf(response)
    if (target === undefined) return await readBody(url, response, limits)
    response.destroy()
    const next = readUrl(target, url)
    // The first URL decides the effects of a call, so a redirect must not lead from a public page to a listed host or
    // back.
    if (isAllowed(next, limits.allowHosts) !== isAllowed(url, limits.allowHosts)) throw new InputError(crossing)
    url = next
  }
  throw new InputError(`url redirects more than ${limits.maxRedirects} times.`)
}

const crossing =
  'url redirects between a host of tools.web.allowHosts and another host; fetch that page by its own url.'

export function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (!url)
    throw new InputError(
      base ? 'url redirects to an invalid URL.' : 'url must be a full URL, such as "https://example.com/page".',
    )
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new InputError(`url must begin with http:// or https://${base ? ', also after redirects' : ''}.`)
  if (url.username || url.password) throw new InputError('url must not contain a user or a password.')
  return url
}

const redirects: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308])
const redirectOf = ({ statusCode, headers }: IncomingMessage): string | undefined =>
  redirects.has(statusCode) ? headers.location : undefined

/** Resolves with the head of the response. */
async function request(
  url: URL,
  { signal, addresses, allowHosts, traceHeaders }: DownloadLimits,
): Promise<IncomingMessage> {
  const anywhere = isAllowed(url, allowHosts)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  // A literal address is not looked up. `URL` has normalized its spelling.
  if (!anywhere && isIP(literal) && !addresses.isPublic(literal)) throw notPublic()
  const options: RequestOptions = {
    agent: false,
    signal,
    headers: {
      accept: 'text/html, text/*, application/json, */*;q=0.5',
      'accept-encoding': 'identity',
      'user-agent': 'svc-gateway',
      ...traceHeaders(url),
    },
    ...(!anywhere && { lookup: addresses.lookup }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // Importing node:http loads Node's fetch client, which takes 20 to 40 ms, so nothing imports it at startup.
  const { get } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  const sent = get(url, options, resolve)
  sent.on('error', (error) => reject(failure(error, signal)))
  return promise
}

export const isAllowed = ({ hostname, host }: URL, allowHosts: readonly string[]): boolean =>
  allowHosts.some((allowed) => [hostname, host].includes(allowed.trim().toLowerCase()))

const notPublic = () =>
  new InputError('url has an address that is not public; add its host to tools.web.allowHosts to allow it.')

/** The caller gets the network error, because it chose the address. */
function failure(error: Error, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason
  if (error instanceof PrivateAddressError) return notPublic()
  return new InputError(`url could not be fetched (${(error as NodeJS.ErrnoException).code ?? error.name}).`, {
    cause: error,
  })
}

async function readBody(url: URL, response: IncomingMessage, { maxBytes, signal }: DownloadLimits): Promise<Download> {
  const encoding = response.headers['content-encoding'] ?? 'identity'
  if (encoding !== 'identity') {
    response.destroy()
    throw new InputError('url returned a compressed body, which was not requested.')
  }
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      chunks.push(chunk)
      length += chunk.length
      if (length > maxBytes) break
    }
  } catch (error) {
    throw failure(error as Error, signal)
  }
  const body = Buffer.concat(chunks).subarray(0, maxBytes)
  return {
    url: url.href,
    status: response.statusCode ?? 0,
    contentType: response.headers['content-type'] ?? '',
    body,
    cut: length > maxBytes,
  }
}
