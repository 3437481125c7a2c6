// Tests ten minutes without a model while two hundred signed alerts arrive.
import { it } from 'vitest'
import { surviveOutage } from '../reliability/outage.ts'

const outageMs = 10 * 60_000

it('answers every alert received during ten minutes without a model exactly once', async () => {
  await surviveOutage({
    alerts: 200,
    ms: outageMs,
    phaseMs: 20_000,
    timeoutSeconds: 8,
    firstTokenTimeout: '5s',
    retry: { initialDelaySeconds: 2, maxDelaySeconds: 300 },
    recoveryMs: 20_000,
  })
})
