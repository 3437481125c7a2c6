// Tests a short outage of the model. test/long has a long one.
import { it } from 'vitest'
import { surviveOutage } from './outage.ts'

it('answers every alert received during a model outage exactly once', async () => {
  await surviveOutage({
    alerts: 40,
    ms: 7_500,
    phaseMs: 1_500,
    timeoutSeconds: 1.2,
    firstTokenTimeout: '1s',
    retry: { initialDelaySeconds: 0.05, maxDelaySeconds: 0.3 },
    recoveryMs: 20_000,
  })
})
