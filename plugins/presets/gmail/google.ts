// Calls Gmail and Pub/Sub with Google's libraries, waits when Google asks for that, and keeps secrets out of errors.
import { setTimeout as delay } from 'node:timers/promises'
import type { gmail_v1 } from '@googleapis/gmail'
import type { OAuth2Client } from 'google-auth-library'
import { AuthError, type Log } from 'svc-gateway/plugin'
import { createClient, type Credentials, type Service } from './credentials.ts'
import { apiError, type Failure, hasStatus, isRateLimit, retryAfterMs, tokenError } from './google-error.ts'
import type { Watch } from './settings.ts'

export interface PubSubCall {
  /** Below the address of the API, such as `/v1/projects/p/topics/t`. */
  path: string
  method?: 'GET' | 'POST' | 'PUT'
  data?: object
  timeoutMs?: number
}

/** Both resolve with the reply. */
export interface Google {
  gmail<Data extends object>(call: (users: gmail_v1.Resource$Users) => Promise<{ data: Data }>): Promise<Data>
  pubsub<Data extends object>(call: PubSubCall): Promise<Data>
}

interface GoogleDeps extends Pick<Watch, 'account' | 'urls'> {
  credentials: Credentials
  signal: AbortSignal
  log: Log
}

type Send<Data> = (client: OAuth2Client) => Promise<{ data: Data }>

export async function createGoogle(deps: GoogleDeps): Promise<Google> {
  const { account, urls } = deps
  const { gmail } = await import('@googleapis/gmail')
  const clients = createClients(deps)

  async function send<Data extends object>(service: Service, request: Send<Data>): Promise<Data> {
    const client = await clients.get(service)
    await client.getAccessToken().catch((error: Failure) => {
      throw tokenError(error, { account, url: urls.token })
    })
    try {
      const { data } = await request(client)
      if (data && typeof data === 'object') return data
    } catch (error) {
      throw apiError(error as Failure, { service, url: urls[service] })
    }
    throw new Error(`What answers at ${new URL(urls[service]).origin} is not Google's API; check any proxy in between.`)
  }

  async function call<Data extends object>(service: Service, request: Send<Data>): Promise<Data> {
    try {
      return await send(service, request)
    } catch (error) {
      if (!hasStatus(error, 401)) throw error
    }
    // Google may end an access token early.
    clients.drop(service)
    return await send(service, request).catch((error: unknown) => {
      throw hasStatus(error, 401) ? new AuthError(refusedToken) : error
    })
  }

  return {
    gmail: (request) => call('gmail', (auth) => request(gmail({ version: 'v1', auth }).users)),
    pubsub: ({ path, method = 'POST', data, timeoutMs: timeout = timeoutMs }) =>
      call('pubsub', (client) =>
        client.request({ url: `https://pubsub.googleapis.com${path}`, method, data, timeout, responseType: 'json' }),
      ),
  }
}

const timeoutMs = 30_000
const refusedToken = 'Google refuses the access token; to authorise again, run "svc-gateway gmail setup".'

/** A token of a person is for all that the person has granted; that of a service account is for one service. */
function createClients({ credentials, account, urls, signal, log }: GoogleDeps) {
  const clients = new Map<string, Promise<OAuth2Client>>()
  const transport = { signal, timeout: timeoutMs, retryConfig: createRetries({ signal, log }) }
  const keyOf = (service: Service): string => (credentials.type === 'authorized_user' ? 'all' : service)
  return {
    get(service: Service): Promise<OAuth2Client> {
      const key = keyOf(service)
      const client = clients.get(key) ?? createClient(credentials, { service, account, urls, transport })
      clients.set(key, client)
      return client
    },
    drop: (service: Service) => void clients.delete(keyOf(service)),
  }
}

/** How often a call is tried again after Google has limited it. */
const maxWaits = 3
/** A longer wait is that of the job, which shows it in its state. */
const longestWaitMs = 30_000

/** The library would repeat a call at once, and not look at Retry-After. */
const createRetries = ({ signal, log }: Pick<GoogleDeps, 'signal' | 'log'>) => ({
  shouldRetry: (failure: Failure) =>
    isRateLimit(failure) && attemptsOf(failure) < maxWaits && waitMsOf(failure) <= longestWaitMs,
  retryBackoff: async (failure: Failure): Promise<void> => {
    const { pathname: path } = new URL(failure.config?.url ?? '')
    const ms = waitMsOf(failure)
    log.warn({ path, seconds: Math.round(ms / 1000) }, 'Google allows no more calls at the moment')
    await delay(ms, undefined, { signal, ref: false })
  },
})

const attemptsOf = ({ config }: Failure): number => config?.retryConfig?.currentRetryAttempt ?? 0

const waitMsOf = (failure: Failure): number => retryAfterMs(failure) ?? 1000 * 4 ** attemptsOf(failure)
