// Builds everything that depends on the configuration. A reload builds a new runtime and retires the old one.
import type { FastifyInstance } from 'fastify'
import { resolveBudgets } from '../budgets/budget.ts'
import type { Config } from '../config/schema/schema.ts'
import type { CurrentRuntime, Services } from '../services.ts'
import { buildAgents } from './agents.ts'
import type { BuildContext, Lifecycle, Reusable } from './build-context.ts'
import { buildRoutes } from './routes.ts'
import { buildRuns } from './runs.ts'
import { buildToolApi } from './tool-api.ts'
import { buildTools } from './tools.ts'

/** The gateway under one configuration. Work that starts in a runtime also ends in it. Nothing acts before `start`. */
export interface Runtime extends CurrentRuntime, Reusable {
  app: FastifyInstance
  /** Resolves when the routes are compiled and what they need is read from the store. */
  ready(): Promise<void>
  /** Starts the heartbeats and the schedules. */
  start(): void
  /** Stops the heartbeats and the schedules, and closes each HTTP connection after its current response. */
  stop(): Promise<void>
  /** Closes the WebSocket connections. Waits up to `graceMs` milliseconds for calls that are under way. */
  disconnect(graceMs: number, reason: string): Promise<void>
  /** Waits for the runtime's attempts and webhooks to end, then closes what no other runtime uses. */
  close(): Promise<void>
}

interface RuntimeOptions {
  services: Services
  lifecycle: Lifecycle
  config: Config
  /** The runtime that a reload replaces. */
  previous?: Runtime
}

/** Builds a runtime. If this fails or the gateway stops meanwhile, everything that was opened is closed. */
export async function createRuntime({ previous, ...options }: RuntimeOptions): Promise<Runtime> {
  const opened = new AsyncDisposableStack()
  try {
    options.lifecycle.stopping.throwIfAborted()
    const context = { ...options, previous, opened }
    const runtime = await build(context)
    // The functions of the runtime keep its context, and would keep all runtimes before it.
    context.previous = undefined
    return runtime
  } catch (error) {
    await opened.disposeAsync()
    throw error
  }
}

async function build(context: BuildContext): Promise<Runtime> {
  const agents = buildAgents(context)
  const { toolApi, schedules } = buildToolApi(context, agents)
  const tools = await buildTools(context, agents, { toolApi })
  const { heartbeat, untilIdle, ...runs } = buildRuns(context, agents, tools)
  const { app, sockets, transforms, acceptPayload } = buildRoutes(context, { ...agents, ...tools })
  return {
    config: context.config,
    tools: tools.tools,
    policy: tools.ownPolicy,
    transforms,
    ...runs,
    acceptPayload,
    app,
    ready: async () => {
      await Promise.all([app.ready(), agents.routesRead])
      await context.services.work.budgets.use(resolveBudgets(context.config))
    },
    start: () => {
      heartbeat.start()
      schedules.start()
    },
    stop: async () => {
      heartbeat.close()
      await Promise.all([schedules.close(), app.close()])
    },
    disconnect: sockets.close,
    close: async () => {
      await untilIdle()
      await context.opened.disposeAsync()
    },
  }
}
