// Lets a person allow the gateway to read a mailbox, in the browser (OAuth for installed apps, with PKCE).
import { createHash, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { InputError } from 'svc-gateway/plugin'
import type { Credentials } from './credentials.ts'
import type { Watch } from './settings.ts'

export interface OAuthClient {
  client_id: string
  client_secret: string
}

interface Authorization {
  client: OAuthClient
  account: string
  scopes: readonly string[]
  urls: Watch['urls']
  /** Shows the person which address to open. */
  show(url: string): void
  signal: AbortSignal
}

/** Resolves when the person has agreed in the browser. */
export async function authorize({
  client,
  account,
  scopes,
  urls,
  show,
  signal,
}: Authorization): Promise<Extract<Credentials, { type: 'authorized_user' }>> {
  const verifier = randomBytes(48).toString('base64url')
  const state = randomBytes(24).toString('base64url')
  const answer = await openCallback(state)
  try {
    const url = new URL(urls.authorize)
    url.search = new URLSearchParams({
      client_id: client.client_id,
      redirect_uri: answer.redirectUri,
      response_type: 'code',
      scope: scopes.join(' '),
      state,
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      login_hint: account,
      // Without these, Google issues no refresh token.
      access_type: 'offline',
      prompt: 'consent',
    }).toString()
    show(url.href)
    const code = await Promise.race([answer.code, rejectOnAbort(signal)])
    return await exchange({ client, code, verifier, redirectUri: answer.redirectUri, tokenUrl: urls.token, signal })
  } finally {
    answer.close()
  }
}

/** Listens on this machine for the redirect with the code. */
async function openCallback(state: string) {
  const { createServer } = await import('node:http')
  const result = Promise.withResolvers<string>()
  result.promise.catch(() => undefined)
  const server = createServer((request, response) => {
    const query = URL.parse(request.url ?? '', 'http://localhost')?.searchParams
    const isOurs = query?.get('state') === state
    response.writeHead(isOurs ? 200 : 400, { 'content-type': 'text/plain', connection: 'close' })
    response.end(
      isOurs ? 'You can close this window and return to the terminal.\n' : 'This is not the expected page.\n',
    )
    if (!isOurs) return
    const code = query?.get('code')
    if (code) result.resolve(code)
    else result.reject(new InputError('Google did not grant access; run the command again and agree to it.'))
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    code: result.promise,
    close: () => {
      server.close()
      server.closeIdleConnections()
    },
  }
}

const rejectOnAbort = (signal: AbortSignal): Promise<never> =>
  new Promise((_resolve, reject) => {
    const stop = () => reject(new InputError('Nobody agreed in the browser in time; run the command again.'))
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
  })

interface Exchange {
  client: OAuthClient
  code: string
  verifier: string
  redirectUri: string
  tokenUrl: string
  signal: AbortSignal
}

async function exchange({ client, code, verifier, redirectUri, tokenUrl, signal }: Exchange) {
  const { client_id, client_secret } = client
  const response = await fetch(tokenUrl, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'authorization_code',
      client_id,
      client_secret,
      code,
      code_verifier: verifier,
      redirect_uri: redirectUri,
    }),
    signal,
  })
  const reply = (await response.json().catch(() => ({}))) as { refresh_token?: unknown }
  if (!response.ok || typeof reply.refresh_token !== 'string')
    throw new InputError(`Google issued no refresh token (${response.status}); run the command again.`)
  return { type: 'authorized_user' as const, client_id, client_secret, refresh_token: reply.refresh_token }
}
