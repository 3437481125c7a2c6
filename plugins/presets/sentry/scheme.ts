// The scheme of Sentry's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'sentry',
  description: 'Webhooks of Sentry.',
  signatures: [{ header: 'sentry-hook-signature' }],
})
