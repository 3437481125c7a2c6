// The queue that runs asynchronous work one after another.
import { expect, it } from 'vitest'
import { createSerialQueue } from '../core/serial-queue.ts'

it('runs work in order, one at a time, and goes on after a failure', async () => {
  const { add, settled } = createSerialQueue()
  const events: string[] = []
  const first = Promise.withResolvers<void>()
  const failing = add(async () => {
    events.push('first begins')
    await first.promise
    throw new Error('the first failed')
  })
  const second = add(() => events.push('second'))
  await Promise.resolve()
  expect(events).toEqual(['first begins'])
  first.resolve()
  await expect(failing).rejects.toThrow('the first failed')
  await settled()
  expect(events).toEqual(['first begins', 'second'])
  expect(await second).toBe(2)
})
