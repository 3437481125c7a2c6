// Records of rejected requests: no caller waits for them, and a flood of them is limited.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { createRequestLog } from '../../core/hooks/request-log.ts'
import type { NewRefusal } from '../../core/store/store.ts'
import { createTestContext } from '../contracts/context.ts'
import { newRequest } from '../contracts/store-samples.ts'

const refusal = () => ({ ...newRequest(), status: 'rejected' }) as const
const createLog = (store: Parameters<typeof createRequestLog>[0]['store'], log = createTestContext().log) =>
  createRequestLog({ store, redact: (text) => text.replaceAll('s3cret', '[redacted]'), log })

describe('the request log', () => {
  it('holds a bounded number of records in memory and drops the rest', async () => {
    const written: (() => void)[] = []
    const recordRefusal = () => new Promise<void>((resolve) => written.push(resolve))
    const requestLog = createLog({ recordRefusal })
    for (let n = 0; n < 1000; n++) requestLog.record(refusal())
    expect(written).toHaveLength(64)
    for (const resolve of written) resolve()
    await new Promise(setImmediate)
    requestLog.record(refusal())
    expect(written).toHaveLength(65)
  })

  it('records a few requests without authentication of each route in a minute, and counts the others', () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const written: NewRefusal[] = []
    const recordRefusal = async (one: NewRefusal) => void written.push(one)
    const requestLog = createLog({ recordRefusal })
    const error = { type: 'unauthorized', message: 'Reason: s3cret.' }
    for (let n = 0; n < 10_000; n++) requestLog.recordStranger('/hooks/*', { ...refusal(), hook: `s3cret-${n}`, error })
    requestLog.recordStranger('/hooks/agent', refusal())
    expect(written.map(({ hook }) => hook)).toEqual([...[0, 1, 2, 3, 4].map((n) => `[redacted]-${n}`), refusal().hook])
    vi.advanceTimersByTime(60_000)
    expect(written.slice(6)).toMatchObject([
      { hook: '[redacted]-9999', count: 9995, error: { message: 'Reason: [redacted].' } },
    ])
    // The next minute begins with the next request.
    for (let n = 0; n < 7; n++) requestLog.recordStranger('/hooks/*', refusal())
    expect(written).toHaveLength(12)
    requestLog.close()
    expect(written[12]).toMatchObject({ count: 2 })
  })

  it('records no secret of the configuration, in what a transform throws either', () => {
    const written: NewRefusal[] = []
    const requestLog = createLog({ recordRefusal: async (one: NewRefusal) => void written.push(one) })
    const error = { type: 'transform_failed', message: 'It knows s3cret.', detail: 'Error: s3cret' }
    requestLog.record({ ...refusal(), hook: 's3cret', error })
    const redacted = { ...error, message: 'It knows [redacted].', detail: 'Error: [redacted]' }
    expect(written).toMatchObject([{ hook: '[redacted]', error: redacted }])
  })

  it('logs an outage of the store and continues afterwards', async () => {
    const { log, logged } = createTestContext()
    const requestLog = createLog({ recordRefusal: () => Promise.reject(new Error('full')) }, log)
    requestLog.record(refusal())
    await new Promise(setImmediate)
    expect(logged).toMatchObject([{ level: 'warn', message: 'rejected requests cannot be recorded' }])
  })
})
