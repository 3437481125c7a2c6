// The scheme of PagerDuty's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'pagerduty',
  description: 'Webhooks of PagerDuty.',
  signatures: [{ header: 'x-pagerduty-signature', separator: ',', prefix: 'v1=' }],
})
