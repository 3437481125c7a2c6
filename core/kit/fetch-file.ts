// Downloads a file from a platform through redirects, and sends the credential of the account only to the platform.

export interface FileSource {
  /** Whether an address is one of the platform. The first one must be; only these get `headers`. */
  isOwn(url: URL): boolean
  /** With the credential, if the platform wants one. */
  headers?: Readonly<Record<string, string>>
  signal: AbortSignal
}

/** Platforms need one or two. */
const maxRedirects = 5

/**
 * Resolves with the answer, which may have an error status. Redirects lead at most five times, never from HTTPS to HTTP,
 * and to addresses that are not of the platform without `headers`. Its errors hold no address: many contain a secret.
 */
export async function fetchFile(address: string, source: FileSource): Promise<Response> {
  let url = URL.parse(address)
  if (!url || !source.isOwn(url)) throw new Error('The file is not stored at the platform.')
  for (let count = 0; count <= maxRedirects; count++) {
    const response = await fetchOnce(url, source)
    if (!redirects.has(response.status)) return response
    await response.body?.cancel()
    const next: URL | null = URL.parse(response.headers.get('location') ?? '', url.href)
    if (!next || !mayLead(url, next)) throw new Error('The platform redirects the file to an address that is not safe.')
    url = next
  }
  throw new Error(`The platform redirects the file more than ${maxRedirects} times.`)
}

const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

async function fetchOnce(url: URL, { isOwn, headers, signal }: FileSource): Promise<Response> {
  try {
    // By itself, `fetch` would also drop the credential between two hosts of the platform.
    return await fetch(url, { signal, redirect: 'manual', ...(headers && isOwn(url) && { headers }) })
  } catch {
    signal.throwIfAborted()
    throw new Error('The file could not be downloaded.')
  }
}

const mayLead = (from: URL, to: URL): boolean =>
  to.protocol === 'https:' || (to.protocol === 'http:' && from.protocol === 'http:')
