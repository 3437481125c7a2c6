// Decides which web pages may call a route group: the gateway's own, and those of the listed origins.
import type { IncomingHttpHeaders } from 'node:http'
import type { onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'

/** Refuses requests that a browser sends for a page of an origin that is not listed. */
export function refuseForeignOrigins(allowed: readonly string[]): onRequestHookHandler {
  return (request, _reply, done) => {
    if (!isAllowedOrigin(request.headers, allowed)) throw new GatewayError('origin_not_allowed')
    done()
  }
}

/**
 * A request without `Origin` does not come from a web page. The scheme is not compared, because a proxy may have
 * terminated TLS.
 */
function isAllowedOrigin({ origin, host }: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (origin === undefined || allowed.some((one) => one.toLowerCase() === origin.toLowerCase())) return true
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
}
