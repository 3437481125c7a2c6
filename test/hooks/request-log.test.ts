// Records of rejected requests: no caller waits for them, and a flood of them is limited.
import { describe, expect, it } from 'vitest'
import { createRequestLog } from '../../core/hooks/request-log.ts'
import { createTestContext } from '../contracts/context.ts'
import { newRequest } from '../contracts/store-samples.ts'

const refusal = () => ({ ...newRequest(), status: 'rejected' }) as const

describe('the request log', () => {
  it('holds a bounded number of records in memory and drops the rest', async () => {
    const written: (() => void)[] = []
    const recordRefusal = () => new Promise<void>((resolve) => written.push(resolve))
    const requestLog = createRequestLog({ store: { recordRefusal }, log: createTestContext().log })
    for (let n = 0; n < 1000; n++) requestLog.record(refusal())
    expect(written).toHaveLength(64)
    for (const resolve of written) resolve()
    await new Promise(setImmediate)
    requestLog.record(refusal())
    expect(written).toHaveLength(65)
  })

  it('logs an outage of the store and continues afterwards', async () => {
    const { log, logged } = createTestContext()
    const requestLog = createRequestLog({ store: { recordRefusal: () => Promise.reject(new Error('full')) }, log })
    requestLog.record(refusal())
    await new Promise(setImmediate)
    expect(logged).toMatchObject([{ level: 'warn', message: 'rejected requests cannot be recorded' }])
  })
})
