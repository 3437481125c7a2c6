// Checks the newest requests of the running gateway for a proxy whose X-Forwarded-For is ignored.
import { isIP } from 'node:net'
import { fieldsOf, listOf, textOf } from '../../../kit/shapes.ts'
import { lacksTrustedProxy } from '../exposure.ts'
import type { RunningGateway } from './state.ts'
import { withGateway } from './running.ts'

/** How many requests are looked at. */
const sample = 20

export const checkProxy = withGateway(async (gateway, { ready }) => {
  if (ready && lacksTrustedProxy(ready.resolved.config.gateway))
    return { skipped: 'gateway.trustedProxies is empty, as reported above' }
  const requests = await listRequests(gateway)
  if (requests.length === 0) return { skipped: 'no webhook has arrived yet' }
  const proxy = requests.find(isUntrusted)?.client
  if (proxy === undefined) return []
  return [
    {
      id: 'proxy_untrusted',
      severity: 'warning',
      where: 'gateway.trustedProxies',
      problem:
        `Webhooks come through a proxy at ${proxy} that is not trusted, so that all callers behind it seem to have ` +
        'one address, and one of them can lock out the others.',
      fix: `If the proxy is yours, add "${proxy}" to gateway.trustedProxies.`,
    },
  ]
})

interface SeenRequest {
  client: string
  forwardedFor: string | undefined
}

async function listRequests({ get }: RunningGateway): Promise<SeenRequest[]> {
  const ids = listOf(fieldsOf(await get(`/api/requests?limit=${sample}`))['items']).flatMap((request) => {
    const { id, replayOf } = fieldsOf(request)
    return replayOf === undefined ? (textOf(id) ?? []) : []
  })
  const requests = await Promise.all(ids.map((id) => get(`/api/requests/${id}`)))
  return requests.map((request) => {
    const { client, headers } = fieldsOf(request)
    return { client: String(client), forwardedFor: textOf(fieldsOf(headers)['x-forwarded-for']) }
  })
}

/** The address of a trusted proxy is replaced by one of the header. */
const isUntrusted = ({ client, forwardedFor }: SeenRequest): boolean =>
  forwardedFor !== undefined &&
  isIP(client) !== 0 &&
  !forwardedFor.split(',').some((hop) => hop.trim().replace(/^\[?([^\]]*)\]?(:\d+)?$/, '$1') === client)
