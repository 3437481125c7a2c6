// Says in one sentence why a service could not be reached, and what to check, for whoever set up the channel.
import { isAuthError } from '../plugin/errors.ts'
import { codesOf, parseRetryAfter } from './send-result.ts'

/** What `connect` was talking to. */
export interface Service {
  /** Such as `Telegram` or `signal-cli`. */
  name: string
  /** Its address. Only the host and the path are shown. */
  url: string
  /** The key of the configuration that has the address, if it has one. */
  setting?: string
  /** What to do if nothing listens at the address, as a sentence. */
  start?: string
}

/**
 * The error to throw from `connect` when `fetch`, or a library on top of it, threw: its message says what is wrong with
 * the address, the network, TLS, or the answer. An `AuthError`, and any other error that is not of the network or of
 * parsing, is returned as it is.
 */
export function connectError(error: unknown, service: Service): Error {
  if (isAuthError(error)) return error
  const reason = reasonOf(error, service)
  if (reason !== undefined) return new Error(reason)
  return error instanceof Error ? error : new Error(String(error))
}

/** An answer with an error status, such as a `Response`. */
export interface ErrorAnswer {
  status: number
  /** `retry-after` says how long to wait. */
  headers?: Pick<Headers, 'get'> | undefined
  /** How long to wait, in milliseconds, if the answer says so in another way. */
  retryAfterMs?: number | undefined
}

/**
 * The same for an answer with an error status, which may come from a proxy or from another service. The gateway waits as
 * long as the answer asks for.
 */
export function connectStatusError(answer: ErrorAnswer, service: Service): Error {
  const { status, headers, retryAfterMs = parseRetryAfter(headers?.get('retry-after') ?? null) } = answer
  const error = statusError(status, service)
  return retryAfterMs === undefined ? error : Object.assign(error, { retryAfterMs })
}

function statusError(status: number, service: Service): Error {
  const answered = `${service.name} answered ${status} at ${addressOf(service)}`
  if (status === 429) return new Error(`${answered}: it limits how often it may be called.`)
  if (status >= 500) return new Error(`${answered}: it, or a proxy in front of it, has a problem.`)
  return new Error(`${answered}; ${checkOf(service)}, another service may answer there.`)
}

/** What is known about a failure, for its sentence. */
interface Failure {
  /** `signal-cli does not answer at http://127.0.0.1:8080` */
  unanswered: string
  code: string
  /** `check httpUrl` */
  check: string
  service: Service
}

interface Cause {
  matches(code: string): boolean
  describe(failure: Failure): string
}

/** By the codes of Node's errors. The first match counts. */
const causes: readonly Cause[] = [
  {
    matches: (code) => code === 'ECONNREFUSED',
    describe: ({ unanswered, check, service: { start = `C${check.slice(1)}.` } }) =>
      `${unanswered}: nothing listens there. ${start}`,
  },
  {
    matches: (code) => /^(ENOTFOUND|EAI_\w+|ENODATA)$/.test(code),
    describe: ({ unanswered, code, check }) =>
      `${unanswered}: the name of the host is not known (${code}); ${check} and the DNS server.`,
  },
  {
    matches: (code) => /^(EHOSTUNREACH|ENETUNREACH|EADDRNOTAVAIL)$/.test(code),
    describe: ({ unanswered, code }) =>
      `${unanswered}: no network leads there (${code}); check the connection of this machine.`,
  },
  {
    matches: (code) => code === 'EPROTO' || code.startsWith('ERR_SSL_'),
    describe: ({ unanswered, check }) =>
      `${unanswered} with TLS; ${check}, perhaps it has to begin with http:// instead of https://.`,
  },
  {
    matches: (code) => /CERT|^UNABLE_TO_|^ERR_TLS/.test(code),
    describe: ({ unanswered, code }) =>
      `${unanswered}: its certificate is not trusted (${code}). ` +
      'Renew it, or trust its authority with the environment variable NODE_EXTRA_CA_CERTS.',
  },
  {
    matches: (code) => /TIMEOUT|^ETIMEDOUT$|^ECONNABORTED$/.test(code),
    describe: ({ unanswered, check }) => `${unanswered} in time; ${check}, and any firewall or proxy in between.`,
  },
  {
    matches: () => true,
    describe: ({ unanswered, code, check }) => `${unanswered}: the connection broke (${code}); ${check}.`,
  },
]

function reasonOf(error: unknown, service: Service): string | undefined {
  const address = addressOf(service)
  const codes = isTimeout(error) ? ['ETIMEDOUT'] : codesOf(error).filter(isCodeOfNode)
  const about = { unanswered: `${service.name} does not answer at ${address}`, check: checkOf(service), service }
  for (const { matches, describe } of causes) {
    const code = codes.find(matches)
    if (code !== undefined) return describe({ ...about, code })
  }
  if (!isOfFetch(error)) return undefined
  return `What answers at ${address} is not ${service.name}; ${about.check}, and any proxy in between.`
}

/** Libraries have codes of their own, such as `slack_webapi_platform_error`. */
const isCodeOfNode = (code: string): boolean => /^[A-Z][A-Z0-9_]+$/.test(code)

const isTimeout = (error: unknown): boolean => error instanceof Error && error.name === 'TimeoutError'

/** `fetch` throws a TypeError, and the body of another service is no JSON. */
const isOfFetch = (error: unknown): boolean => error instanceof TypeError || error instanceof SyntaxError

/** `check httpUrl`, as the middle of a sentence. */
const checkOf = ({ setting }: Service): string =>
  setting === undefined ? 'check the network of this machine' : `check ${setting}`

/** Without a user name, a password or a query, which may be secret. */
function addressOf({ url }: Service): string {
  const { protocol, host, pathname } = new URL(url)
  return `${protocol}//${host}${pathname.replace(/\/$/, '')}`
}
