// Order under load: ten thousand wakes between two turns, a thousand runs of one session.
import { it } from 'vitest'
import { runsStayInOrder, wakesStayInOrder } from '../reliability/order.ts'

it('brings ten thousand wakes to the agent, in order, in bounded batches', async () => {
  await wakesStayInOrder(10_016)
})

it('runs a thousand runs of one session in order, and holds no other session up', async () => {
  await runsStayInOrder(1024)
})
