// The scheme of Linear's webhooks: the body contains the time of signing.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'linear',
  description: 'Webhooks of Linear.',
  signatures: [
    { header: 'linear-signature', timestamp: { field: 'webhookTimestamp', unit: 'ms', toleranceSeconds: 60 } },
  ],
})
