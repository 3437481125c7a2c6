// Which web pages may talk to a route group: those that the gateway serves itself, and those of listed origins.
import type { IncomingHttpHeaders } from 'node:http'
import type { onRequestHookHandler } from 'fastify'
import { GatewayError } from '../errors.ts'

/** Refuses what a browser sends for a page of another origin. */
export function refuseStrangeOrigins(allowed: readonly string[]): onRequestHookHandler {
  return (request, _reply, done) => {
    if (!isAllowedOrigin(request.headers, allowed)) throw new GatewayError('origin_not_allowed')
    done()
  }
}

/** No `Origin`: not a page. The scheme is not compared with ours: a proxy before us may have ended TLS. */
export function isAllowedOrigin({ origin, host }: IncomingHttpHeaders, allowed: readonly string[]): boolean {
  if (origin === undefined || allowed.some((one) => one.toLowerCase() === origin.toLowerCase())) return true
  return URL.canParse(origin) && new URL(origin).host === host?.toLowerCase()
}
