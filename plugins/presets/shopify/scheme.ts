// The scheme of Shopify's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'shopify',
  description: 'Webhooks of Shopify.',
  signatures: [{ header: 'x-shopify-hmac-sha256', encoding: 'base64' }],
})
