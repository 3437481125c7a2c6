// The scheme of Jira's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'jira',
  description: 'Webhooks of Jira.',
  signatures: [{ header: 'x-hub-signature', prefix: 'sha256=' }],
})
