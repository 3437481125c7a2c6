// A short outage of the model; test/long has a long one.
import { it } from 'vitest'
import { surviveOutage } from './outage.ts'

it('answers every alert that came in during an outage of the model, once, and none fails', async () => {
  await surviveOutage({
    alerts: 40,
    ms: 2_000,
    phaseMs: 250,
    retry: { initialDelaySeconds: 0.05, maxDelaySeconds: 0.3 },
  })
})
