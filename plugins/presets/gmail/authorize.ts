// Lets a person allow the gateway to read a mailbox, in the browser (OAuth for installed apps, with PKCE).
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import type { CodeChallengeMethod, OAuth2Client } from 'google-auth-library'
import { InputError } from 'svc-gateway/plugin'
import { type Credentials, quiet, useUrls } from './credentials.ts'
import { type Failure, tokenError } from './google-error.ts'
import type { Watch } from './settings.ts'

export interface OAuthClientFile {
  client_id: string
  client_secret: string
}

interface Authorization {
  client: OAuthClientFile
  account: string
  scopes: readonly string[]
  urls: Watch['urls']
  /** Shows the person which address to open. */
  show(url: string): void
  signal: AbortSignal
}

/** Resolves when the person has agreed in the browser. */
export async function authorize(options: Authorization): Promise<Extract<Credentials, { type: 'authorized_user' }>> {
  const { account, client: file, scopes, show, signal } = options
  const state = randomBytes(24).toString('base64url')
  const answer = await openCallback(state)
  try {
    const client = await createConsentClient(options, answer.redirectUri)
    const { codeVerifier, codeChallenge = '' } = await client.generateCodeVerifierAsync()
    const consent = client.generateAuthUrl({
      scope: [...scopes],
      state,
      code_challenge: codeChallenge,
      code_challenge_method: 'S256' as CodeChallengeMethod,
      login_hint: account,
      // Without these, Google issues no refresh token.
      access_type: 'offline',
      prompt: 'consent',
    })
    show(consent)
    const code = await Promise.race([answer.code, rejectOnAbort(signal)])
    const refresh_token = await exchange(client, { code, codeVerifier, options })
    return { type: 'authorized_user', client_id: file.client_id, client_secret: file.client_secret, refresh_token }
  } finally {
    answer.close()
  }
}

async function createConsentClient({ client, urls, signal }: Authorization, redirectUri: string) {
  const { OAuth2Client } = await import('google-auth-library')
  return useUrls(
    new OAuth2Client({
      clientId: client.client_id,
      clientSecret: client.client_secret,
      redirectUri,
      endpoints: { oauth2AuthBaseUrl: urls.authorize },
      transporterOptions: { signal, timeout: 30_000, retryConfig: { shouldRetry: () => false } },
      ...quiet,
    }),
    urls,
  )
}

/** Resolves with the refresh token. Google lets the person untick a part of what was asked for. */
async function exchange(
  client: OAuth2Client,
  { options: { account, scopes, urls }, ...answer }: { code: string; codeVerifier: string; options: Authorization },
): Promise<string> {
  const { tokens } = await client.getToken(answer).catch((error: Failure) => {
    throw tokenError(error, { account, url: urls.token })
  })
  const granted = tokens.scope?.split(' ') ?? scopes
  const missing = scopes.find((scope) => !granted.includes(scope))
  if (missing) throw new InputError(`Google did not grant ${missing}; run the command again and tick every box.`)
  if (!tokens.refresh_token) throw new InputError('Google issued no refresh token; run the command again.')
  return tokens.refresh_token
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
