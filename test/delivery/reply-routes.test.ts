// The last routes in memory: a failed read.
import { expect, it } from 'vitest'
import { createReplyRoutes } from '../../core/delivery/reply-routes.ts'

it('reads the routes of a session again when the first read has failed', async () => {
  const route = { channel: 'slack', accountId: 'default', to: 'C1', threadId: null, route: null, at: 1 }
  let isBroken = true
  const routes = createReplyRoutes({
    store: {
      getLastRoute: async () => {
        if (isBroken) throw new Error('the store is out of reach')
        return route
      },
    },
  })
  await expect(routes.watch('agent:main:main', ['slack'])).rejects.toThrow('out of reach')
  isBroken = false
  await routes.watch('agent:main:main', ['slack'])
  expect(routes.last('agent:main:main')).toMatchObject({ to: 'C1' })
})
