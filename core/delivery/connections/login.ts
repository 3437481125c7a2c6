// Links accounts of channels where a person takes part, and unlinks them. What is shown and answered is never logged.
import { setTimeout as delay } from 'node:timers/promises'
import { untilAborted } from '../../deadline.ts'
import { describeThrown } from '../../errors.ts'
import { InputError, type Log, type LoginContext, type LoginStep } from '../../plugin/plugin.ts'
import type { Connections } from './connections.ts'
import type { ConnectionState, Link } from './link.ts'
import { createQuestions, type PendingQuestion } from './login-questions.ts'

export interface Logins {
  /** Starts a login, or joins the one under way. Resolves with the first step, or with how the login ended. */
  start(target: LoginTarget): Promise<LoginView>
  status(target: LoginTarget): LoginView
  /** Answers a question of the login under way. Resolves with what follows it. */
  answer(target: LoginTarget, given: { questionId: string; answer: string }): Promise<LoginView>
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
 * - `waiting`: a person must scan the QR code, type the code, open the address or answer the question. Without any of
 * them, the channel works.
 * - `linked`: the account is connected, or it connects at the moment.
 * - `failed`: the last login failed.
 * - `not_linked`: there was no login.
 */
export interface LoginView {
  status: 'waiting' | 'linked' | 'failed' | 'not_linked'
  account: string
  qr?: string
  code?: string
  url?: string
  question?: PendingQuestion
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
/** Longest wait for the first step, and for what follows an answer. */
const nextStepMs = 30_000
/** Time limit for `logout`. */
const logoutMs = 60_000

/** The last login of an account. */
interface Login {
  link: Link
  stop: AbortController
  /** Absent until the first step, while the channel asks, and when the login has ended. */
  step?: LoginStep
  questions: ReturnType<typeof createQuestions>
  state: 'waiting' | 'linked' | 'failed'
  reason?: string
  /** Resolves with the next step or question, or with the end of the login. Never rejects. */
  next: PromiseWithResolvers<void>
  ended: Promise<unknown>
}

/** Throws an `InputError` if this gateway does not connect the account. */
export function findLink(connections: Pick<Connections, 'find'>, { channel, account }: LoginTarget): Link {
  const link = connections.find(channel, account)
  const name = account === undefined ? `"${channel}"` : `"${channel}" with the account "${account}"`
  if (!link) throw new InputError(`The channel ${name} is not configured, or has several accounts; name one of them.`)
  if (link.health().state === 'standby')
    throw new InputError(`The channel ${name} is connected by another gateway; send the request to that one.`)
  return link
}

export function createLogins({ connections, redact, hide, log }: LoginsDeps): Logins {
  const logins = new Map<string, Login>()

  function find(target: LoginTarget): { link: Link; login: Login | undefined; key: string } {
    const link = findLink(connections, target)
    if (!link.channel.login) throw new InputError(`The channel "${target.channel}" needs no login.`)
    const key = JSON.stringify([link.channel.name, link.accountId])
    const login = logins.get(key)
    // A login of an account whose settings have changed since says nothing about the new one.
    return { link, key, login: login?.link === link ? login : undefined }
  }

  function begin(link: Link): Login {
    const stop = new AbortController()
    const context = link.loginContext()
    const signal = AbortSignal.any([context.signal, stop.signal, AbortSignal.timeout(loginMs)])
    const fields = { channel: link.channel.name, accountId: link.accountId }
    const onStep = (step: LoginStep): void => {
      hide(secretsOf(step))
      login.step = step
      login.next.resolve()
    }
    const onQuestion = (): void => {
      delete login.step
      login.next.resolve()
    }
    const questions = createQuestions({ signal, onQuestion })
    const run = async (): Promise<void> => {
      log.info(fields, 'login started')
      try {
        await link.whileDisconnected(() => followSteps(link, { ...context, signal, ask: questions.ask }, onStep))
        login.state = 'linked'
        log.info(fields, 'login succeeded')
      } catch (error) {
        login.state = 'failed'
        login.reason = signal.aborted ? 'It was not confirmed in time, or it was ended.' : redact(messageOf(error))
        log.warn({ ...fields, ...(signal.aborted ? { reason: login.reason } : describeThrown(error)) }, 'login failed')
      }
      delete login.step
      login.next.resolve()
    }
    const next = Promise.withResolvers<void>()
    const login: Login = { link, stop, questions, state: 'waiting', next, ended: Promise.resolve() }
    login.ended = run()
    return login
  }

  return {
    async start(target) {
      const { link, key, login: last } = find(target)
      const login = last?.state === 'waiting' ? last : begin(link)
      logins.set(key, login)
      return await nextView(link, login)
    },
    status: (target) => {
      const { link, login } = find(target)
      return view(link, login)
    },
    async answer(target, { questionId, answer }) {
      const { link, login } = find(target)
      // Before the channel has it: it may log it.
      hide([answer])
      if (login?.state !== 'waiting' || !login.questions.has(questionId))
        throw new InputError('The login does not ask this question any more; ask for its state.')
      login.next = Promise.withResolvers<void>()
      login.questions.answer(answer)
      return await nextView(link, login)
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

/** What is shown as soon as there is something. */
async function nextView(link: Link, login: Login): Promise<LoginView> {
  await Promise.race([login.next.promise, delay(nextStepMs, undefined, { ref: false })])
  return view(link, login)
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
      if (!isStep(next.value))
        throw new TypeError(
          'login must yield { qr }, { code } or { url, code? }, each a text; a url begins with https://',
        )
      onStep(next.value)
    }
  } finally {
    // Not awaited: a generator that hangs would never return.
    void Promise.resolve(steps.return?.()).catch(() => undefined)
  }
}

/** A QR code and an address hold several keys, each of which is secret. A code may be written without its dashes. */
function secretsOf(step: LoginStep): string[] {
  if ('qr' in step) return [step.qr, ...keysIn(step.qr)]
  const { code = '' } = step
  return [...('url' in step ? keysIn(step.url) : []), code, code.replaceAll(/\W/g, '')].filter((text) => text !== '')
}

const keysIn = (text: string): string[] =>
  text
    .split(/[,?&=#]/)
    .slice(1)
    .filter((part) => part.length >= shortestKey)

const shortestKey = 16

function isStep(step: unknown): step is LoginStep {
  const { qr, code, url } = (step ?? {}) as Record<string, unknown>
  if (url !== undefined) return isWebAddress(url) && (code === undefined || typeof code === 'string')
  return typeof qr === 'string' || typeof code === 'string'
}

/** The page makes a link of it. A server on the same machine needs no TLS. */
function isWebAddress(text: unknown): boolean {
  const { protocol, hostname } = (typeof text === 'string' && URL.parse(text)) || { protocol: '', hostname: '' }
  return protocol === 'https:' || (protocol === 'http:' && ['localhost', '127.0.0.1', '[::1]'].includes(hostname))
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error))

const linkedStates: ReadonlySet<ConnectionState['state']> = new Set(['connected', 'connecting', 'failing'])

function view(link: Link, login: Login | undefined): LoginView {
  const { accountId: account } = link
  const { state, reason } = link.health()
  if (login?.state === 'waiting') {
    const question = login.questions.pending()
    return { account, status: 'waiting', ...login.step, ...(question && { question }) }
  }
  if (login?.state === 'failed' && state !== 'connected')
    return { account, status: 'failed', ...(login.reason !== undefined && { reason: login.reason }) }
  if (linkedStates.has(state)) return { account, status: 'linked' }
  return { account, status: 'not_linked', ...(reason !== undefined && { reason }) }
}
