// The scheme of Stripe's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'stripe',
  description: 'Webhooks of Stripe.',
  signatures: [
    {
      header: 'stripe-signature',
      separator: ',',
      prefix: 'v1=',
      signed: '{timestamp}.{body}',
      timestamp: { prefix: 't=' },
    },
  ],
})
