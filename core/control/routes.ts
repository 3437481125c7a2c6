// DOOR: what the gateway shows of itself: GET /runs/<id>.
import type { FastifyInstance, onRequestHookHandler } from 'fastify'
import { viewRun } from '../agents/run-view.ts'
import { GatewayError } from '../errors.ts'
import type { Store } from '../store/store.ts'

export interface ControlDoor {
  auth: onRequestHookHandler
  store: Pick<Store, 'getRun' | 'messagesOfRun'>
}

export function registerControl(app: FastifyInstance, { auth, store }: ControlDoor): void {
  void app.register(async (door) => {
    door.addHook('onRequest', auth)
    door.get<{ Params: { id: string } }>('/runs/:id', async ({ params }) => {
      const run = await store.getRun(params.id)
      if (!run) throw new GatewayError('run_not_found')
      return viewRun(run, await store.messagesOfRun(run.id))
    })
  })
}
