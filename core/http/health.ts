// GET /healthz: the process lives. GET /readyz: it can take work.
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../errors.ts'
import { Type } from '../typebox.ts'
import { setRouteGroup } from './route-list.ts'

export interface HealthOptions {
  /** False while starting and draining. */
  isReady: () => boolean
  /** Resolves when the store can commit, rejects when it can't. */
  probe: () => Promise<void>
}

/** Longest wait for a probe; a store that stalls is not ready. */
const probeMs = 2_000

export function registerHealth(app: FastifyInstance, { isReady, probe }: HealthOptions): void {
  const canStore = createSharedProbe(probe)
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'health')
    routeGroup.get('/healthz', { config, schema: { summary: 'Is the process alive?', response } }, () => ({ ok: true }))
    routeGroup.get('/readyz', { config, schema: { summary: 'Can it take work?', response } }, async () => {
      if (!isReady()) throw new GatewayError('shutting_down')
      await canStore()
      return { ok: true }
    })
  })
}

const config = { always: true }
const response = { 200: Type.Object({ ok: Type.Literal(true) }) }

/** Nobody needs a credential to ask, so many askers share one probe. */
function createSharedProbe(probe: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  return () => (running ??= bounded(probe()).finally(() => (running = undefined)))
}

async function bounded(probe: Promise<void>): Promise<void> {
  const { promise: late, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new Error('The store did not answer in time.')), probeMs)
  try {
    await Promise.race([probe, late])
  } catch (cause) {
    throw cause instanceof GatewayError ? cause : new GatewayError('store_unavailable', undefined, { cause })
  } finally {
    clearTimeout(timer)
  }
}
