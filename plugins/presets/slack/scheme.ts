// The scheme of Slack's requests, with the reply to the one by which Slack checks the address.
import { defineScheme } from 'svc-gateway/plugin'

export const scheme = defineScheme({
  name: 'slack',
  description: 'Requests of a Slack app.',
  signatures: [
    {
      header: 'x-slack-signature',
      prefix: 'v0=',
      signed: 'v0:{timestamp}:{body}',
      timestamp: { header: 'x-slack-request-timestamp' },
    },
  ],
  answerHandshake: ({ type, challenge }) =>
    type === 'url_verification' && typeof challenge === 'string' ? challenge : undefined,
})
