// The scheme of GitHub's webhooks.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'github',
  description: 'Webhooks of GitHub.',
  signatures: [{ header: 'x-hub-signature-256', prefix: 'sha256=' }],
})
