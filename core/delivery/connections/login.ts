// Links accounts of channels where a person confirms it in an app, and unlinks them. What is shown is never logged.
import { setTimeout as delay } from 'node:timers/promises'
import { untilAborted } from '../../deadline.ts'
import { describeThrown } from '../../errors.ts'
import { InputError, type Log, type LoginContext, type LoginStep } from '../../plugin/plugin.ts'
import type { Connections } from './connections.ts'
import type { ConnectionState, Link } from './link.ts'

export interface Logins {
  /** Starts a login, or joins the one under way. Resolves with the first step, or with how the login ended. */
  start(target: LoginTarget): Promise<LoginView>
  status(target: LoginTarget): LoginView
  /** Ends the login that is under way, if there is one. */
  cancel(target: LoginTarget): Promise<void>
  /** Unlinks the account. Ends a login that is under way. */
  logout(target: LoginTarget): Promise<void>
}

export interface LoginTarget {
  channel: string
  /** Absent: the account `default`, or the only one. */
  account?: string | undefined
}

/**
 * - `waiting`: a person must scan the QR code or type the code. Without either, the channel prepares it.
 * - `linked`: the account is connected, or it connects at the moment.
 * - `failed`: the last login failed.
 * - `not_linked`: there was no login.
 */
export interface LoginView {
  status: 'waiting' | 'linked' | 'failed' | 'not_linked'
  account: string
  qr?: string
  code?: string
  reason?: string
}

interface LoginsDeps {
  connections: Pick<Connections, 'find'>
  redact(text: string): string
  /** Keeps what a login shows out of the log, whoever logs it. */
  hide(values: readonly string[]): void
  log: Log
}

/** Time that a person has to log in. */
const loginMs = 5 * 60_000
/** Longest wait for the first step. */
const firstStepMs = 30_000
/** Time limit for `logout`. */
const logoutMs = 60_000

/** The last login of an account. */
interface Login {
  link: Link
  stop: AbortController
  /** Absent until the first step, and when the login has ended. */
  step?: LoginStep
  state: 'waiting' | 'linked' | 'failed'
  reason?: string
  /** Resolves with the first step, or with the end of the login. Never rejects. */
  first: Promise<unknown>
  ended: Promise<unknown>
}

export function createLogins({ connections, redact, hide, log }: LoginsDeps): Logins {
  const logins = new Map<string, Login>()

  function find({ channel, account }: LoginTarget): { link: Link; login: Login | undefined; key: string } {
    const link = connections.find(channel, account)
    const name = account === undefined ? `"${channel}"` : `"${channel}" with the account "${account}"`
    if (!link) throw new InputError(`The channel ${name} is not configured, or has several accounts; name one of them.`)
    if (!link.channel.login) throw new InputError(`The channel "${channel}" needs no login.`)
    if (link.health().state === 'standby')
      throw new InputError(`The channel ${name} is connected by another gateway; send the request to that one.`)
    const key = JSON.stringify([link.channel.name, link.accountId])
    const login = logins.get(key)
    // A login of an account whose settings have changed since says nothing about the new one.
    return { link, key, login: login?.link === link ? login : undefined }
  }

  function begin(link: Link): Login {
    const first = Promise.withResolvers<void>()
    const stop = new AbortController()
    const context = link.loginContext()
    const signal = AbortSignal.any([context.signal, stop.signal, AbortSignal.timeout(loginMs)])
    const fields = { channel: link.channel.name, accountId: link.accountId }
    const onStep = (step: LoginStep): void => {
      hide(secretsOf(step))
      login.step = step
      first.resolve()
    }
    const run = async (): Promise<void> => {
      log.info(fields, 'login started')
      try {
        await link.whileDisconnected(() => followSteps(link, { ...context, signal }, onStep))
        login.state = 'linked'
        log.info(fields, 'login succeeded')
      } catch (error) {
        login.state = 'failed'
        login.reason = signal.aborted ? 'It was not confirmed in time, or it was ended.' : redact(messageOf(error))
        log.warn({ ...fields, ...(signal.aborted ? { reason: login.reason } : describeThrown(error)) }, 'login failed')
      }
      delete login.step
      first.resolve()
    }
    const login: Login = { link, stop, state: 'waiting', first: first.promise, ended: Promise.resolve() }
    login.ended = run()
    return login
  }

  return {
    async start(target) {
      const { link, key, login: last } = find(target)
      const login = last?.state === 'waiting' ? last : begin(link)
      logins.set(key, login)
      await Promise.race([login.first, delay(firstStepMs, undefined, { ref: false })])
      return view(link, login)
    },
    status: (target) => {
      const { link, login } = find(target)
      return view(link, login)
    },
    cancel: (target) => end(find(target).login),
    async logout(target) {
      const { link, key, login } = find(target)
      const { channel } = link
      await end(login)
      logins.delete(key)
      if (!channel.logout) throw new InputError(`The channel "${channel.name}" cannot be unlinked here; use its app.`)
      const context = link.loginContext()
      const signal = AbortSignal.any([context.signal, AbortSignal.timeout(logoutMs)])
      await untilAborted(channel.logout(link.account.settings, { ...context, signal }), signal)
      log.info({ channel: channel.name, accountId: link.accountId }, 'logged out')
      await link.reconnect()
    },
  }
}

async function end(login: Login | undefined): Promise<void> {
  if (login?.state !== 'waiting') return
  login.stop.abort()
  await login.ended
}

/** Rejects when the signal aborts, even if the channel ignores it. */
async function followSteps(link: Link, context: LoginContext, onStep: (step: LoginStep) => void): Promise<void> {
  const { account, channel } = link
  const steps = channel.login?.(account.settings, context)[Symbol.asyncIterator]()
  if (!steps) return
  try {
    for (;;) {
      const next = await untilAborted(steps.next(), context.signal)
      if (next.done === true) return
      if (!isStep(next.value)) throw new TypeError('login must yield { qr } or { code }, each a string')
      onStep(next.value)
    }
  } finally {
    // Not awaited: a generator that hangs would never return.
    void Promise.resolve(steps.return?.()).catch(() => undefined)
  }
}

/** A QR code holds several keys, each of which is secret. A code may be written without its dashes. */
const secretsOf = (step: LoginStep): string[] =>
  'qr' in step
    ? [step.qr, ...step.qr.split(/[,?&=]/).filter((part) => part.length >= shortestKey)]
    : [step.code, step.code.replaceAll(/\W/g, '')]

const shortestKey = 16

const isStep = (step: unknown): step is LoginStep =>
  ['qr', 'code'].some((key) => typeof (step as Record<string, unknown> | null)?.[key] === 'string')

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const linkedStates: ReadonlySet<ConnectionState['state']> = new Set(['connected', 'connecting', 'failing'])

function view(link: Link, login: Login | undefined): LoginView {
  const { accountId: account } = link
  const { state, reason } = link.health()
  if (login?.state === 'waiting') return { account, status: 'waiting', ...login.step }
  if (login?.state === 'failed' && state !== 'connected')
    return { account, status: 'failed', ...(login.reason !== undefined && { reason: login.reason }) }
  if (linkedStates.has(state)) return { account, status: 'linked' }
  return { account, status: 'not_linked', ...(reason !== undefined && { reason }) }
}
