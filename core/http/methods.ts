// Which answer a path gets when no route takes the method: 405 with Allow where another method is taken, else 404.
import type { FastifyInstance } from 'fastify'
import { GatewayError } from '../errors.ts'

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const

export interface NoRoute {
  error: GatewayError
  /** Value of the Allow header of a 405. */
  allow: string | undefined
}

/**
 * Asks the router itself, so that a route need not list what it refuses. It runs before any route group's auth: a wrong
 * method costs no failure.
 */
export function noRoute(app: FastifyInstance, path: string): NoRoute {
  const taken = methods.filter((method) => app.findRoute({ method, url: path }) !== null)
  if (taken.length === 0) return { error: new GatewayError('not_found'), allow: undefined }
  const allow = taken.flatMap((method) => (method === 'GET' ? ['GET', 'HEAD'] : method)).join(', ')
  return { error: new GatewayError('method_not_allowed', `This path takes ${allow}.`), allow }
}
