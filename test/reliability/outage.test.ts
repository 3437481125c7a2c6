// Tests a short outage of the model. test/long has a long one.
import { it } from 'vitest'
import { surviveOutage } from './outage.ts'

it('answers every alert received during a model outage exactly once', async () => {
  await surviveOutage({
    alerts: 40,
    ms: 2_000,
    phaseMs: 250,
    retry: { initialDelaySeconds: 0.05, maxDelaySeconds: 0.3 },
  })
})
