// Authenticates requests: compares credentials in constant time, locks out clients after repeated failures, and checks
// what the caller may do.
import { hash, timingSafeEqual } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import type { IncomingMessage } from 'node:http'
import type { FastifyRequest, onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { createMatcher } from '../kit/matcher.ts'
import { type Access, authorize, ownPrincipal, type Principal } from './access.ts'
import type { Client } from './client.ts'
import type { Throttle } from './throttle.ts'

interface HookGuardOptions {
  token: string
  throttle: Throttle
}

export interface HookGuard {
  hasToken(request: FastifyRequest): boolean
  /** Records whether the sender is authenticated. If not, throws `unauthorized`, with `sentence`, or `rate_limited`. */
  judge(request: FastifyRequest, isAuthenticated: boolean, sentence?: string): void
}

/**
 * Guards the webhook routes. An authenticated request is accepted even while its address is locked out, and clears the
 * count: a sender that shares its address with an attacker must not lose webhooks.
 */
export function createHookGuard({ token, throttle }: HookGuardOptions): HookGuard {
  const matches = createMatcher(token)
  return {
    hasToken(request) {
      const given = hookToken(headerReader(request))
      return given !== undefined && matches(given)
    },
    judge(request, isAuthenticated, sentence) {
      const { key } = request.client
      if (isAuthenticated) return throttle.clear(key)
      recordFailure(throttle, key)
      throw new GatewayError('unauthorized', sentence)
    },
  }
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Who calls, in the route groups that need the credential of the gateway or of a client. */
    principal: Principal
  }
  interface FastifyContextConfig {
    access?: Access
  }
}

/** A credential that the gateway accepts. */
export interface KnownCredential {
  /** The SHA-256 digest of the token or the password. */
  digest: Buffer
  principal: Principal
}

const digestOf = (text: string): Buffer => Buffer.from(hash('sha256', text, 'hex'), 'hex')

/** The gateway's own credential. */
export const ownCredential = (value: string): KnownCredential => ({ digest: digestOf(value), principal: ownPrincipal })

interface CredentialCheckOptions {
  credentials: readonly KnownCredential[]
  /** Called with the name of a client whose token is accepted. */
  onClient?(name: string): void
  /** Absent: failed attempts are not limited. */
  throttle?: Throttle
  /** True: failed attempts of programs on this machine are not counted. */
  exemptLoopback: boolean
}

/** Returns who calls. Throws `unauthorized` or `rate_limited` unless the given credential is right. */
export type CheckCredential = (caller: { readonly client: Client }, given: string | undefined) => Principal

/**
 * Checks the gateway's own credential and those of clients. While an address is locked out, even the right credential
 * is refused.
 */
export function createCredentialCheck({
  credentials,
  onClient,
  throttle,
  exemptLoopback,
}: CredentialCheckOptions): CheckCredential {
  return (caller, given) => {
    const principal = given === undefined ? undefined : findPrincipal(credentials, given)
    const isExpired = principal !== undefined && isPast(principal)
    const { client } = caller
    if (throttle && !(exemptLoopback && client.isLocal)) {
      refuseLockedOut(throttle, client.key)
      if (!principal || isExpired) throttle.recordFailure(client.key)
    }
    if (!principal) throw new GatewayError('unauthorized')
    if (isExpired) throw new GatewayError('unauthorized', expiredText)
    if (principal !== ownPrincipal) onClient?.(principal.name)
    return principal
  }
}

const isPast = ({ expiresAt = Infinity }: Principal): boolean => Date.now() > expiresAt

export const expiredText = 'The token of this client has expired; ask for a new one.'

/** Compares with every credential, so that the time tells nothing about which of them is similar. */
function findPrincipal(credentials: readonly KnownCredential[], given: string): Principal | undefined {
  const digest = digestOf(given)
  let found: Principal | undefined
  for (const known of credentials) if (timingSafeEqual(digest, known.digest)) found = known.principal
  return found
}

function refuseLockedOut(throttle: Throttle, key: string): void {
  const seconds = throttle.lockoutSeconds(key)
  if (seconds > 0) throw new GatewayError('rate_limited', undefined, { retryAfter: seconds })
}

/** Counts a failed attempt. Throws `rate_limited` while the client is locked out. */
export function recordFailure(throttle: Throttle, key: string): void {
  refuseLockedOut(throttle, key)
  throttle.recordFailure(key)
}

/** Guards every HTTP route group except the hooks and the health checks. Its routes must declare their access. */
export function createGatewayAuth(check: CheckCredential): onRequestHookHandler {
  return (request, _reply, done) => {
    refuseTokenInQuery(request)
    request.principal = check(request, bearerToken(headerReader(request)))
    const { access } = request.routeOptions.config
    if (!access) throw new Error('The route does not declare its access.')
    authorize(request.principal, access)
    done()
  }
}

/** Refuses a token in the URL, even together with a valid header: URLs end up in logs and browser histories. */
export function refuseTokenInQuery({ raw }: FastifyRequest): void {
  const url = raw.url ?? ''
  const query = url.indexOf('?')
  if (query !== -1 && new URLSearchParams(url.slice(query + 1)).has('token')) throw new GatewayError('token_in_query')
}

/** The headers as they were sent. */
interface RawRequest {
  raw: Pick<IncomingMessage, 'rawHeaders'>
}

/** Reads a header by its name in lower case. Throws `malformed_header` when the header is repeated. */
export type ReadHeader = (name: string) => string | undefined

export const headerReader =
  (request: RawRequest): ReadHeader =>
  (name) =>
    readSingleHeader(request, name)

/** The token of a webhook sender: the bearer token, else the value of `x-svc-token`. */
export function hookToken(header: ReadHeader): string | undefined {
  const fallback = header('x-svc-token')
  return bearerToken(header) ?? (fallback === undefined ? undefined : headerValue(fallback))
}

function bearerToken(header: ReadHeader): string | undefined {
  const given = header('authorization')
  return given !== undefined && /^bearer[ \t]/i.test(given) ? headerValue(given.slice('bearer '.length)) : undefined
}

/** Trims a value. Returns undefined for a blank one. */
export const headerValue = (header: string): string | undefined => header.trim() || undefined

/** Decodes UTF-8, since Node reads headers as Latin-1. A value that is no UTF-8 stays as it is. */
export function decodeHeader(value: string): string {
  if (!/[\x80-\xff]/.test(value)) return value
  const bytes = Buffer.from(value, 'latin1')
  return isUtf8(bytes) ? bytes.toString('utf8') : value
}

/** Decodes all headers of a request where they are. */
export function decodeHeaders({ headers }: IncomingMessage): void {
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string') headers[name] = decodeHeader(value)
  }
}

/**
 * Reads a header that may be sent once. Node's `headers` keeps the first of two or joins them, which would hide that
 * the header was repeated.
 */
function readSingleHeader({ raw: { rawHeaders } }: RawRequest, name: string): string | undefined {
  let value: string | undefined
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const key = rawHeaders[index] as string
    if (key.toLowerCase() !== name) continue
    if (value !== undefined) throw repeatedHeader(name)
    value = rawHeaders[index + 1]
  }
  return value === undefined ? undefined : decodeHeader(value)
}

export const repeatedHeader = (name: string): GatewayError =>
  new GatewayError('malformed_header', `The header ${name} is repeated; send it once.`)

/** The names of the headers that were sent several times, in lower case. */
export function repeatedHeadersOf({ raw: { rawHeaders } }: RawRequest): string[] {
  const names = rawHeaders.filter((_, index) => index % 2 === 0).map((name) => name.toLowerCase())
  return names.length === new Set(names).size ? [] : names.filter((name, index) => names.indexOf(name) !== index)
}
