// Notes of refused requests: nobody waits for them, and a flood of them is cut.
import { describe, expect, it } from 'vitest'
import { createJournal } from '../../core/hooks/journal.ts'
import { createTestContext } from '../contracts/context.ts'
import { newDelivery } from '../contracts/store-samples.ts'

const refusal = () => ({ ...newDelivery(), status: 'rejected' }) as const

describe('the journal', () => {
  it('holds a bounded number of notes in memory, and drops the rest', async () => {
    const written: (() => void)[] = []
    const recordRefusal = () => new Promise<void>((resolve) => written.push(resolve))
    const journal = createJournal({ store: { recordRefusal }, log: createTestContext().log })
    for (let n = 0; n < 1000; n++) journal.note(refusal())
    expect(written).toHaveLength(64)
    for (const resolve of written) resolve()
    await new Promise(setImmediate)
    journal.note(refusal())
    expect(written).toHaveLength(65)
  })

  it('outlives a store that cannot write, and says so in the log', async () => {
    const { log, logged } = createTestContext()
    const journal = createJournal({ store: { recordRefusal: () => Promise.reject(new Error('full')) }, log })
    journal.note(refusal())
    await new Promise(setImmediate)
    expect(logged).toMatchObject([{ level: 'warn', message: 'a refused delivery could not be noted' }])
  })
})
