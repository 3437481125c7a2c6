// Starts a small server for the HTTP tests: echo routes behind a hook token and behind the gateway's credential. Also
// has raw sockets to reach them.
import { connect, type Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import { onTestFinished } from 'vitest'
import { GatewayError } from '../../core/errors.ts'
import {
  createCredentialCheck,
  createGatewayAuth,
  createHookGuard,
  ownCredential,
  refuseTokenInQuery,
} from '../../core/http/auth.ts'
import { type BodyOptions, readBody } from '../../core/http/body.ts'
import { registerHealth } from '../../core/http/health.ts'
import type { ConnectionLimits } from '../../core/http/listener.ts'
import { createHttpListener, createServer } from '../../core/http/server.ts'
import { createThrottle } from '../../core/http/throttle.ts'
import { writeBigInts } from '../../core/json.ts'
import { Type } from '../../core/typebox.ts'
import { expectNoWarnings } from '../process-warnings.ts'

export const token = 'hook-token-0123456789-0123456789'
export const password = 'pässwörd'
export const maxBytes = 262_144

type OnFinished = (clean: () => void | Promise<void>) => void

export interface AppOptions {
  limits?: Partial<ConnectionLimits>
  trustedProxies?: string[]
  attempts?: { maxAttempts: number; windowMs: number; lockoutMs: number; now?: () => number; maxClients?: number }
  exemptLoopback?: boolean
  isReady?: () => boolean
  probe?: () => Promise<void>
  accept?: BodyOptions['accept']
  /** The echo route awaits it before it replies. */
  beforeReply?: () => Promise<void>
}

export interface App {
  app: FastifyInstance
  url: string
  port: number
  /** Every log line: level, fields and message as JSON. */
  lines: string[]
  /** The bodies that reached a handler. */
  reached: unknown[]
}

/** @param finished Concurrent tests must pass their own `onTestFinished`. */
export async function startApp(options: AppOptions = {}, finished: OnFinished = onTestFinished): Promise<App> {
  writeBigInts()
  const lines: string[] = []
  const reached: unknown[] = []
  const write = (level: string) => (fields: object, message: string) =>
    void lines.push(JSON.stringify({ level, ...fields, message }))
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const isReady = options.isReady ?? (() => true)
  const findRefusal = () => (isReady() ? undefined : new GatewayError('shutting_down'))
  const attempts = options.attempts ?? { maxAttempts: 1_000_000, windowMs: 60_000, lockoutMs: 60_000 }
  const app = createServer({
    log,
    findRefusal,
    trustedProxies: options.trustedProxies ?? [],
    listener: createHttpListener({ log, limits: options.limits ?? {} }),
  })
  registerHealth(app, { findRefusal, probe: options.probe ?? (async () => {}) })
  await app.register(
    async (hooks) => {
      const guard = createHookGuard({ token, throttle: createThrottle({ ...attempts, limits: () => attempts }) })
      hooks.addHook('onRequest', async (request) => {
        refuseTokenInQuery(request)
        guard.judge(request, guard.hasToken(request))
      })
      hooks.addHook('preValidation', readBody({ maxBytes, accept: options.accept ?? 'object' }))
      hooks.post('/echo', async ({ body, rawBody }) => {
        reached.push(body)
        await options.beforeReply?.()
        return { ok: true, body, bytes: rawBody.length, raw: rawBody.toString('base64') }
      })
      hooks.post(
        '/checked',
        { schema: { body: Type.Object({ text: Type.String(), mode: Type.Optional(Type.Enum(['now', 'later'])) }) } },
        ({ body }) => {
          reached.push(body)
          return { ok: true }
        },
      )
      hooks.post('/broken', () => {
        throw new TypeError('payload of the caller\n    at /forged/place.ts:1:1')
      })
      hooks.post('/*', (request) => ({ ok: true, name: (request.params as { '*': string })['*'] }))
    },
    { prefix: '/hooks' },
  )
  await app.register(async (tools) => {
    const check = createCredentialCheck({
      credentials: [ownCredential(password)],
      throttle: createThrottle({ ...attempts, limits: () => attempts }),
      exemptLoopback: options.exemptLoopback ?? true,
    })
    tools.addHook('onRequest', createGatewayAuth(check))
    tools.addHook('preValidation', readBody({ maxBytes: 2_097_152, accept: 'object' }))
    const config = { access: { needs: 'read', scope: 'public' } as const }
    tools.get('/tools', { config }, () => ({ ok: true, items: [] }))
    tools.post('/tools/invoke', { config }, ({ body }) => ({ ok: true, body }))
  })
  await app.listen({ port: 0, host: '127.0.0.1' })
  finished(async () => {
    await expectNoWarnings()
    void app.close()
  })
  const { port } = app.server.address() as { port: number }
  return { app, url: `http://127.0.0.1:${port}`, port, lines, reached }
}

export const bearer = { authorization: `Bearer ${token}` }

/** Renders a request. `headers` are lines without line ends. Host and the token are added. */
export function rawRequest(
  body: string,
  {
    path = '/hooks/echo',
    headers = [`Content-Length: ${Buffer.byteLength(body)}`],
  }: { path?: string; headers?: string[] } = {},
): string {
  return [`POST ${path} HTTP/1.1`, 'Host: localhost', `Authorization: Bearer ${token}`, ...headers, '', body].join(
    '\r\n',
  )
}

export interface RawConnection {
  socket: Socket
  /** Resolves with everything received when the server closes the connection. */
  ended: Promise<string>
  /** Resolves with everything received as soon as it contains `text`. */
  until(text: string): Promise<string>
}

export function rawConnection(port: number, finished: OnFinished = onTestFinished): RawConnection {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true })
  const received: Buffer[] = []
  const text = () => Buffer.concat(received).toString('latin1')
  const ended = new Promise<string>((resolve) => {
    socket.on('data', (chunk) => void received.push(chunk)).on('error', () => {})
    socket.on('end', () => resolve(text())).on('close', () => resolve(text()))
  })
  const until = (wanted: string) =>
    new Promise<string>((resolve, reject) => {
      const look = () => text().includes(wanted) && resolve(text())
      socket.on('data', look).on('close', () => reject(new Error(`closed before ${wanted} came: ${text()}`)))
      look()
    })
  void ended.then(() => socket.end())
  finished(() => void socket.destroy())
  return { socket, ended, until }
}

/** Sends bytes and resolves with everything received when the server closes the connection. */
export async function exchange(port: number, bytes: string | Buffer): Promise<string> {
  const { socket, ended } = rawConnection(port)
  socket.write(bytes)
  return await ended
}

export const statusLines = (received: string): string[] =>
  received.match(/HTTP\/1\.1 \d{3}/g)?.map((line) => line.slice(9)) ?? []

/** Writes one piece after another for as long as the connection lives. */
export function drip(write: () => unknown, ended: Promise<unknown>, everyMs: number): void {
  const timer = setInterval(write, everyMs)
  void ended.finally(() => clearInterval(timer))
}
