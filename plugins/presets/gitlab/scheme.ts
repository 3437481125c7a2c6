// The scheme of GitLab's webhooks: the secret token itself.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'gitlab',
  description: 'Webhooks of GitLab.',
  tokens: [{ header: 'x-gitlab-token' }],
})
