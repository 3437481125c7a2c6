// Tests the order under load. test/long/order.test.ts does the same with thousands.
import { it } from 'vitest'
import { runsStayInOrder, wakesStayInOrder } from './order.ts'

it('passes every wake to the agent, in order, in bounded batches', async () => {
  await wakesStayInOrder(256)
})

it('executes the runs of one session in order without delaying other sessions', async () => {
  await runsStayInOrder(64)
})
