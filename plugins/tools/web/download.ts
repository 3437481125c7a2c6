// Gets one page over HTTP: every hop checked before it is connected to, within a time and a size.
import type { IncomingMessage, RequestOptions } from 'node:http'
import { isIP } from 'node:net'
import { InputError } from 'svc-gateway/plugin'
import { type Addresses, PrivateAddressError } from './addresses.ts'

export interface DownloadLimits {
  /** Most bytes that are read; the rest is left. */
  maxBytes: number
  maxRedirects: number
  /** Ends it, with whatever reason it has. */
  signal: AbortSignal
  addresses: Addresses
  /** Hosts, or hosts with a port, that may be anywhere. */
  allowHosts: readonly string[]
}

export interface Download {
  /** Where it came from in the end. */
  url: string
  status: number
  contentType: string
  body: Buffer
  /** True: there was more. */
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
    // What a call does is known by where it begins: a page of a stranger must not lead it to a private one, nor a
    // private one away.
    if (isAllowed(next, limits.allowHosts) !== isAllowed(url, limits.allowHosts)) throw new InputError(crossing)
    url = next
  }
  throw new InputError(`url leads from one place to the next more than ${limits.maxRedirects} times.`)
}

const crossing =
  'url leads from a host of tools.web.allowHosts to another host, or from another host to one of them; fetch that page by its own url.'

export function readUrl(text: string, base?: URL): URL {
  const url = URL.parse(text, base?.href)
  if (!url)
    throw new InputError(
      base ? 'url leads to something that is no URL.' : 'url must be a whole URL, such as "https://example.com/page".',
    )
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    throw new InputError(`url must begin with http:// or https://${base ? ', also where it leads' : ''}.`)
  if (url.username || url.password) throw new InputError('url may not hold a user or a password.')
  return url
}

const redirects: ReadonlySet<number | undefined> = new Set([301, 302, 303, 307, 308])
const redirectOf = ({ statusCode, headers }: IncomingMessage): string | undefined =>
  redirects.has(statusCode) ? headers.location : undefined

/** Resolves with the head of the answer. */
async function request(url: URL, { signal, addresses, allowHosts }: DownloadLimits): Promise<IncomingMessage> {
  const anywhere = isAllowed(url, allowHosts)
  const literal = url.hostname.replace(/^\[|\]$/g, '')
  // An address in place of a name is never looked up. However it was written, the URL has it in its one spelling.
  if (!anywhere && isIP(literal) && !addresses.isPublic(literal)) throw notPublic()
  const options: RequestOptions = {
    agent: false,
    signal,
    headers: {
      accept: 'text/html, text/*, application/json, */*;q=0.5',
      'accept-encoding': 'identity',
      'user-agent': 'svc-gateway',
    },
    ...(!anywhere && { lookup: addresses.lookup }),
  }
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>()
  // Importing node:http takes about 40 ms, because it loads Node's fetch client, so nothing imports it at startup.
  const { get } = await (url.protocol === 'https:' ? import('node:https') : import('node:http'))
  const sent = get(url, options, resolve)
  sent.on('error', (error) => reject(failure(error, signal)))
  return promise
}

export const isAllowed = ({ hostname, host }: URL, allowHosts: readonly string[]): boolean =>
  allowHosts.some((allowed) => [hostname, host].includes(allowed.trim().toLowerCase()))

const notPublic = () =>
  new InputError(
    'url leads to an address that is not public; tools.web.allowHosts lists the hosts that may be reached all the same.',
  )

/** What the network did is for the caller to know: it chose the address. */
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
    throw new InputError('url answers with a compressed body, although none was asked for.')
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
