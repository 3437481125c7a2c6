// Starts the WebSocket routes alone, with small limits and a few test methods.
import { noReplicas } from '../../../core/store/replicas.ts'
import { onTestFinished } from 'vitest'
import type { Caller, SocketLimits } from '../../../core/control/ws/connection.ts'
import type { LogRecord } from '../../../core/control/ws/log-stream.ts'
import { type Method, method } from '../../../core/control/ws/rpc.ts'
import { registerSocket, socketPath, type Sockets } from '../../../core/control/ws/socket.ts'
import { createTopics } from '../../../core/control/ws/topics.ts'
import { GatewayError } from '../../../core/errors.ts'
import { createCredentialCheck, ownCredential } from '../../../core/http/auth.ts'
import { readBody } from '../../../core/http/body.ts'
import { createHttpListener, createServer } from '../../../core/http/server.ts'
import type { Log } from '../../../core/plugin/plugin.ts'
import { createFeed, type Feed } from '../../../core/store/commits/commits.ts'
import type { StoreChanges } from '../../../core/store/commits/changes.ts'
import { Type } from '../../../core/typebox.ts'
import { gatewayToken } from '../../helpers.ts'

export interface RouteGroup {
  url: string
  port: number
  sockets: Sockets
  changes: StoreChanges
  logStream: Feed<LogRecord>
  /** Publishes a log line of this length. */
  publishLine(characters: number): void
  /** Every line of the log. */
  lines: string[]
  /** Resolves when a log line contains this text. */
  logged(text: string): Promise<void>
  /** Ends all calls of the method `hold`. */
  release(): void
}

export async function openSocket(
  limits: Partial<SocketLimits> = {},
  { isReady = () => true }: { isReady?: () => boolean } = {},
): Promise<RouteGroup> {
  const changes: StoreChanges = {
    requests: createFeed(),
    events: createFeed(),
    runs: createFeed(),
    steps: createFeed(),
    outbox: createFeed(),
    approvals: createFeed(),
  }
  const logStream = createFeed<LogRecord>()
  const lines: string[] = []
  const lineFeed = createFeed<string>()
  const write = (level: keyof Log) => (fields: object, message: string) => {
    const line = JSON.stringify({ level, ...fields, message })
    lines.push(line)
    logStream.publish({ at: '', level, component: 'control', message, fields })
    lineFeed.publish(line)
  }
  const log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') }
  const held = Promise.withResolvers<void>()
  const methods = new Map<string, Method<Caller>>([
    ['echo', method(Type.Unknown(), (params) => params)],
    ['hold', method(Type.Unknown(), () => held.promise)],
    ['subscribe', method(Type.Unknown(), (_params, { subscriptions }: Caller) => subscriptions.add(undefined))],
    ['break', method(Type.Unknown(), () => JSON.parse('the payload of a caller'))],
  ])
  const findRefusal = () => (isReady() ? undefined : new GatewayError('shutting_down'))
  const app = createServer({ log, trustedProxies: [], findRefusal, listener: createHttpListener({ log, socketPath }) })
  app.post('/body', { preValidation: readBody({ maxBytes: 1_000, accept: 'object' }) }, ({ body }) => body)
  app.get('/slow', async () => await held.promise.then(() => ({ ok: true })))
  const check = createCredentialCheck({ credentials: [ownCredential(gatewayToken)], exemptLoopback: true })
  const store = { getRun: async () => undefined }
  const main = { id: 'main', mainSession: 'agent:main:main' }
  const agents = { default: main, get: () => main }
  const sockets = registerSocket(app, {
    check,
    audit: { failed: () => {} },
    allowedOrigins: [],
    methods,
    topics: createTopics({
      explainNarrowing: () => undefined,
      replicas: noReplicas,
      changes,
      log: logStream,
      store,
      agents,
      redactor: { text: (text) => text, json: (text) => text },
      sessionKeys: { seal: (key) => key },
    }),
    limits,
    log,
  })
  const url = await app.listen({ port: 0, host: '127.0.0.1' })
  onTestFinished(async () => {
    held.resolve()
    await sockets.close(1_000, 'done')
    await app.close()
  })
  return {
    url,
    port: Number(new URL(url).port),
    sockets,
    changes,
    logStream,
    publishLine: (characters) =>
      logStream.publish({ at: '', level: 'info', component: 'test', message: 'x'.repeat(characters), fields: {} }),
    lines,
    logged: async (text) => {
      if (lines.some((line) => line.includes(text))) return
      await new Promise<void>((resolve) => {
        const unsubscribe = lineFeed.subscribe((line) => line.includes(text) && (unsubscribe(), resolve()))
      })
    },
    release: () => held.resolve(),
  }
}
