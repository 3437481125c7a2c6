// Reads the credentials of a Google account, and creates clients with them.
import { createPrivateKey } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import type { AuthClient, OAuth2Client, OAuth2ClientOptions } from 'google-auth-library'
import { entryOf } from 'svc-gateway/kit'
import { AuthError } from 'svc-gateway/plugin'
import { defaultUrls, type Watch } from './settings.ts'

/** The two formats that Google's own tools write. */
export type Credentials =
  | { type: 'authorized_user'; client_id: string; client_secret: string; refresh_token: string }
  | { type: 'service_account'; client_email: string; private_key: string }

export type Service = 'gmail' | 'pubsub'

export const scopes: Readonly<Record<Service, string>> = {
  gmail: 'https://www.googleapis.com/auth/gmail.readonly',
  pubsub: 'https://www.googleapis.com/auth/pubsub',
}

export const setupHint = 'run "svc-gateway gmail setup"'

export async function readCredentials(file: string): Promise<Credentials> {
  const text = await readFile(file, 'utf8').catch((cause: unknown) => {
    throw new AuthError(`The file hooks.gmail.watch.credentials cannot be read; ${setupHint}.`, { cause })
  })
  const credentials = parseJson(text)
  const keys = entryOf(requiredKeys, String(credentials?.['type']))
  const missing = keys ? keys.find((key) => typeof credentials?.[key] !== 'string') : 'type'
  const fault = missing ?? findFaultyKey(credentials?.['private_key'])
  if (fault !== undefined)
    throw new AuthError(`The file hooks.gmail.watch.credentials has no valid "${fault}"; ${setupHint}.`)
  return credentials as Credentials
}

const requiredKeys: Readonly<Record<string, readonly string[]>> = {
  authorized_user: ['client_id', 'client_secret', 'refresh_token'],
  service_account: ['client_email', 'private_key'],
}

function findFaultyKey(key: unknown): string | undefined {
  try {
    if (typeof key === 'string') createPrivateKey(key)
    return undefined
  } catch {
    return 'private_key'
  }
}

function parseJson(text: string): Partial<Record<string, unknown>> | undefined {
  try {
    return Object(JSON.parse(text)) as Record<string, unknown>
  } catch {
    return undefined
  }
}

interface ClientOptions extends Pick<Watch, 'account' | 'urls'> {
  service: Service
  transport: OAuth2ClientOptions['transporterOptions']
}

/** A service account reads the mailbox as its owner (domain-wide delegation), and the subscription as itself. */
export async function createClient(
  credentials: Credentials,
  { service, account, urls, transport: transporterOptions = {} }: ClientOptions,
): Promise<OAuth2Client> {
  const { JWT, OAuth2Client } = await import('google-auth-library')
  const options = { transporterOptions, ...quiet }
  if (credentials.type === 'service_account') {
    const { client_email: email, private_key: key } = credentials
    const subject = service === 'gmail' ? { subject: account } : {}
    return useUrls(new JWT({ email, key, scopes: [scopes[service]], ...subject, ...options }), urls)
  }
  const { client_id: clientId, client_secret: clientSecret, refresh_token } = credentials
  const client = new OAuth2Client({ clientId, clientSecret, ...options })
  client.setCredentials({ refresh_token })
  return useUrls(client, urls)
}

/** The library's own log shows tokens, and an environment variable of Google turns it on. */
export const quiet = { useAuthRequestParameters: false }

/** The libraries have no setting for some of the addresses, and none for the path of a proxy. */
export function useUrls<Client extends AuthClient>(client: Client, urls: Watch['urls']): Client {
  client.transporter.interceptors.request.add({
    resolved: async (request) => {
      const { href } = request.url
      const name = keysOf(defaultUrls).find((key) => href.startsWith(defaultUrls[key]))
      if (name) request.url = new URL(urls[name].replace(/\/+$/, '') + href.slice(defaultUrls[name].length))
      return request
    },
  })
  return client
}

const keysOf = Object.keys as (object: typeof defaultUrls) => (keyof typeof defaultUrls)[]
