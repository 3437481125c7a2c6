// Checks who can reach the gateway: without TLS from other machines, and behind a proxy that it does not trust.
import type { GatewayConfig } from '../../config/schema/schema.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'

type Exposure = Pick<GatewayConfig, 'bind' | 'publicUrl' | 'trustedProxies'>

export const checkExposure = withConfig(({ resolved }) => {
  const { gateway } = resolved.config
  return [...plainExposure(gateway), ...untrustedProxy(gateway)]
})

/** Whether other machines can reach the gateway, directly or through a proxy. */
export const isExposed = ({ bind, publicUrl }: Exposure): boolean => !isLoopback(bind) || publicUrl !== undefined

export const isLoopback = (address: string): boolean =>
  address === 'localhost' || address === '::1' || address.startsWith('127.')

/** The gateway has no TLS of its own, so that a proxy in front has it. */
const hasPublicTls = ({ publicUrl = '' }: Exposure): boolean => publicUrl.startsWith('https:')

function plainExposure(gateway: Exposure): Finding[] {
  if (isLoopback(gateway.bind) || gateway.trustedProxies.length > 0 || hasPublicTls(gateway)) return []
  return [
    {
      id: 'bind_public',
      severity: 'warning',
      where: 'gateway.bind',
      problem:
        `The gateway listens on ${gateway.bind} without TLS, and no proxy is configured: credentials and messages ` +
        'cross the network in plain text.',
      fix:
        'Set gateway.bind to "127.0.0.1"; or put a proxy with TLS in front, and set gateway.trustedProxies to its ' +
        'address.',
    },
  ]
}

/** A public HTTPS address needs a proxy, whose X-Forwarded-For is ignored. */
export const lacksTrustedProxy = (gateway: Exposure): boolean =>
  hasPublicTls(gateway) && gateway.trustedProxies.length === 0

function untrustedProxy(gateway: Exposure): Finding[] {
  if (!lacksTrustedProxy(gateway)) return []
  const problem =
    'gateway.publicUrl is an HTTPS address, so a proxy is in front, but gateway.trustedProxies is empty: all callers ' +
    'seem to have the address of the proxy, and one of them can lock out the others.'
  const fix = isLoopback(gateway.bind)
    ? "Set gateway.trustedProxies to the address of the proxy: ['127.0.0.1', '::1'] if it runs on this machine."
    : 'Set gateway.trustedProxies to the addresses from which the proxy connects.'
  return [{ id: 'proxy_untrusted', severity: 'warning', where: 'gateway.trustedProxies', problem, fix }]
}
