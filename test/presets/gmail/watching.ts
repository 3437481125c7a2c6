// Starts gateways that watch the mailbox of a double of Google, and reads what they have accepted.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { account, type GmailDouble, pushEmail, refreshToken, startGmail, topic } from '../../doubles/gmail/gmail.ts'
import type { Forgery } from '../../doubles/gmail/tokens.ts'
import {
  type Answer,
  ask,
  type Document,
  type GatewayProcess,
  gatewayToken,
  hookToken,
  type RunningGateway,
  spawnGateway,
  startGateway,
  temporaryFolder,
  writeConfig,
} from '../../helpers.ts'
import { closeAtEnd } from '../../share.ts'

export const audience = 'https://gateway.example.com/hooks/gmail'
export const clientSecret = 'client-secret-of-the-tests'
export const person: object = {
  type: 'authorized_user',
  client_id: 'c',
  client_secret: clientSecret,
  refresh_token: refreshToken,
}

export async function startDouble(): Promise<GmailDouble> {
  const gmail = await startGmail()
  closeAtEnd(gmail.close)
  return gmail
}

interface WatchOptions {
  /** Settings below `hooks.gmail.watch`. Default: pushes make the watch read, and nothing else does. */
  watch?: object
  /** Other settings of `hooks.gmail`. */
  hook?: object
  /** Other sections of the configuration. */
  sections?: Document
  credentials?: object | string
  /** Environment variables of the process. */
  env?: NodeJS.ProcessEnv
  /** The state of the job to wait for. Default: `connected`. */
  state?: string
  dir?: string
}

const pushed = { topic, pollSeconds: 86_400 }

/** Writes the credentials, and returns the configuration. */
function configure(gmail: GmailDouble, options: WatchOptions & { dir: string }): Document {
  const { watch = pushed, hook = {}, sections = {}, credentials = person, dir } = options
  const text = typeof credentials === 'string' ? credentials : JSON.stringify(credentials)
  writeFileSync(join(dir, 'gmail.json'), text, { mode: 0o600 })
  const auth = { scheme: 'google-oidc', audience, email: pushEmail, keysUrl: gmail.keysUrl }
  const settings = { account, credentials: 'gmail.json', urls: gmail.urls, ...watch }
  const preset = { auth, wakeMode: 'next-heartbeat', deliver: false, ...hook, watch: settings }
  return {
    hooks: { presets: ['gmail'], gmail: preset },
    agents: { defaults: { heartbeat: { every: 0 } } },
    ...sections,
  }
}

export function start(gmail: GmailDouble, options: WatchOptions = {}): Promise<RunningGateway> {
  const dir = options.dir ?? temporaryFolder()
  return startGateway(configure(gmail, { ...options, dir }), dir)
}

/** Starts a gateway, and waits until the watch runs. */
export async function startWatching(gmail: GmailDouble, options: WatchOptions = {}): Promise<RunningGateway> {
  const running = await start(gmail, options)
  await untilState(running, options.state ?? 'connected')
  return running
}

export type Reachable = Pick<RunningGateway, 'get' | 'post'>

/** Starts a gateway as a process of its own, and waits until the watch runs. */
export async function spawnWatching(
  gmail: GmailDouble,
  options: WatchOptions & { dir: string },
): Promise<GatewayProcess & Reachable> {
  const gateway = await spawnGateway(writeConfig(options.dir, configure(gmail, options)), { env: options.env ?? {} })
  closeAtEnd(() => gateway.end('SIGKILL'))
  const call = (path: string, request: RequestInit): Promise<Answer> => ask(`${gateway.url}${path}`, request)
  const running = {
    ...gateway,
    get: (path: string) => call(path, { headers: { authorization: `Bearer ${gatewayToken}` } }),
    post: (path: string, body: unknown, headers = {}) =>
      call(path, {
        method: 'POST',
        body: JSON.stringify(body),
        headers: { authorization: `Bearer ${hookToken}`, ...headers },
      }),
  }
  await untilState(running, 'connected')
  return running
}

const wait = { timeout: 40_000, interval: 50 }

export const jobOf = async ({ get }: Pick<Reachable, 'get'>) => (await get('/api/extensions')).body.jobs[0]

export const untilState = (running: Pick<Reachable, 'get'>, state: string) =>
  vi.waitFor(async () => expect(await jobOf(running)).toMatchObject({ preset: 'gmail', state }), wait)

interface AcceptedMail {
  id: string
  body: string
  [field: string]: unknown
}

const acceptedBy = async ({ get }: Pick<Reachable, 'get'>): Promise<{ id: string }[]> =>
  (await get('/api/requests?status=accepted&limit=200')).body.items

/** The accepted mails, oldest first. */
export async function mailsOf(running: Pick<Reachable, 'get'>): Promise<AcceptedMail[]> {
  const bodies = (await acceptedBy(running)).map(async ({ id }) =>
    JSON.parse((await running.get(`/api/requests/${id}`)).body.body),
  )
  const payloads = (await Promise.all(bodies)) as { messages: AcceptedMail[] }[]
  return payloads.flatMap(({ messages }) => messages).toReversed()
}

/** Waits until these mails are accepted, each with a request of its own. */
export async function untilMails(running: Pick<Reachable, 'get'>, ids: readonly string[]): Promise<void> {
  await until(async () => expect(await acceptedBy(running)).toHaveLength(ids.length))
  expect((await mailsOf(running)).map(({ id }) => id)).toEqual(ids)
}

/** Sends a notification of Pub/Sub. */
export const push = (
  { post }: Pick<Reachable, 'post'>,
  gmail: GmailDouble,
  { audience: other = audience, ...forgery }: Forgery & { audience?: string } = {},
): Promise<Answer> => post('/hooks/gmail', ...gmail.push(other, forgery))

export const until = (check: () => unknown) => vi.waitFor(check, wait)
