// GET /healthz: the process lives. GET /readyz: it can take work.
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../errors.ts'
import { Type } from '../typebox.ts'

export interface HealthOptions {
  /** False while starting and draining. */
  isReady: () => boolean
  /** Resolves when the store can commit, rejects when it can't. */
  probe: () => Promise<void>
}

const Healthy = Type.Object({ ok: Type.Literal(true) })

/** Longest wait for a probe; a store that stalls is not ready. */
const probeMs = 2_000

export function registerHealth(app: FastifyInstance, { isReady, probe }: HealthOptions): void {
  const canStore = createSharedProbe(probe)
  const config = { always: true, door: 'health' } as const
  app.get('/healthz', { config, schema: { summary: 'Is the process alive?', response: { 200: Healthy } } }, () => ({ ok: true }))
  app.get('/readyz', { config, schema: { summary: 'Can it take work?', response: { 200: Healthy } } }, async () => {
    if (!isReady()) throw new GatewayError('shutting_down')
    await canStore()
    return { ok: true }
  })
}

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
    throw new GatewayError('store_unavailable', undefined, { cause })
  } finally {
    clearTimeout(timer)
  }
}
