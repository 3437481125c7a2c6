// The scheme of Gitea's webhooks, and of Forgejo's and Gogs', which differ in the name of the header.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'gitea',
  description: 'Webhooks of Gitea, Forgejo and Gogs.',
  signatures: [{ header: 'x-gitea-signature' }, { header: 'x-forgejo-signature' }, { header: 'x-gogs-signature' }],
})
