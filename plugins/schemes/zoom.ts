// The scheme of Zoom's webhooks, with the signed reply to the request by which Zoom checks the address.
import { createHmac } from 'node:crypto'
import { defineScheme, type SchemePayload } from 'svc-gateway/plugin'

export default defineScheme({
  name: 'zoom',
  description: 'Webhooks of a Zoom app.',
  signatures: [
    {
      header: 'x-zm-signature',
      prefix: 'v0=',
      signed: 'v0:{timestamp}:{body}',
      timestamp: { header: 'x-zm-request-timestamp' },
    },
  ],
  answerHandshake,
})

function answerHandshake({ event, payload }: SchemePayload, secret: string): object | undefined {
  const plainToken = (payload as { plainToken?: unknown } | null | undefined)?.plainToken
  if (event !== 'endpoint.url_validation' || typeof plainToken !== 'string') return undefined
  return { plainToken, encryptedToken: createHmac('sha256', secret).update(plainToken).digest('hex') }
}
