// GET /healthz reports that the process is alive, GET /readyz that it can accept work.
import type { FastifyInstance } from 'fastify'
import { withDeadline } from '../deadline.ts'
import { GatewayError } from '../errors.ts'
import { Type } from '../typebox.ts'
import { setRouteGroup } from './route-list.ts'

export interface HealthOptions {
  /** Why the gateway accepts no work at the moment: it starts or stops, or its store is not to be used. */
  findRefusal: () => GatewayError | undefined
  /** Resolves when the store can commit; rejects when it cannot. */
  probe: () => Promise<void>
}

/** A store that takes longer to answer counts as unavailable. */
const probeTimeoutMs = 2_000

export function registerHealth(app: FastifyInstance, { findRefusal, probe }: HealthOptions): void {
  const probeStore = createSharedProbe(probe)
  void app.register(async (routeGroup) => {
    setRouteGroup(routeGroup, 'health')
    routeGroup.get(
      '/healthz',
      { config, schema: { summary: 'Reports whether the process is alive.', response } },
      () => ({ ok: true }),
    )
    routeGroup.get(
      '/readyz',
      { config, schema: { summary: 'Reports whether the gateway can accept work.', response } },
      async () => {
        const refusal = findRefusal()
        if (refusal) throw refusal
        await probeStore()
        return { ok: true }
      },
    )
  })
}

const config = { alwaysAvailable: true }
const response = { 200: Type.Object({ ok: Type.Literal(true) }) }

/** Concurrent requests share one probe, because health checks need no credential. */
function createSharedProbe(probe: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined
  const limit = { ms: probeTimeoutMs, reason: () => new Error('The store did not answer in time.') }
  const probeInTime = async (): Promise<void> => {
    try {
      await withDeadline(limit, () => probe())
    } catch (cause) {
      throw cause instanceof GatewayError ? cause : new GatewayError('store_unavailable', undefined, { cause })
    } finally {
      running = undefined
    }
  }
  return () => (running ??= probeInTime())
}
