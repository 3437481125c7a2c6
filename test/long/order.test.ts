// Tests the order under load: ten thousand wakes between two turns, a thousand runs of one session.
import { it } from 'vitest'
import { runsStayInOrder, wakesStayInOrder } from '../reliability/order.ts'

it('passes ten thousand wakes to the agent, in order, in bounded batches', async () => {
  await wakesStayInOrder(10_016)
})

it('executes a thousand runs of one session in order without delaying other sessions', async () => {
  await runsStayInOrder(1024)
})
