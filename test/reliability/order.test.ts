// Order under load, in short; test/long/order.test.ts does the same with thousands.
import { it } from 'vitest'
import { runsStayInOrder, wakesStayInOrder } from './order.ts'

it('brings every wake to the agent, in order, in bounded batches', async () => {
  await wakesStayInOrder(1024)
})

it('runs what one session was asked for in order, and holds no other session up', async () => {
  await runsStayInOrder(96)
})
