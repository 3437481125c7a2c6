// Which routes there are, with the schemas they carry: what the OpenAPI document and the list of routes are made from.
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import type { JsonSchema } from '../typebox.ts'

/** The walled parts of the server; each has a credential of its own, or none. */
export type RouteGroup = 'hooks' | 'tools' | 'mcp' | 'control' | 'socket' | 'health' | 'docs'

declare module 'fastify' {
  interface FastifyContextConfig {
    routeGroup?: RouteGroup
  }
  interface FastifyRequest {
    /** `none`: the request did not get to any. */
    routeGroup: RouteGroup | 'none'
  }
  interface FastifySchema {
    /** One line on what the route does. */
    summary?: string
    /** Headers that the handler reads and judges by itself. */
    readsHeaders?: JsonSchema
    /** The same for the body, where one is known; it may become known later. */
    readsBody?: () => JsonSchema | undefined
    /** True: it needs no credential of the route group: its senders sign what they send. */
    signed?: boolean
    /** True: it is no address of its own, only what is left of others. */
    hide?: boolean
  }
}

export interface RouteInfo {
  method: string
  /** As Fastify writes it: `/runs/:id`. */
  path: string
  routeGroup: RouteGroup | undefined
  schema: FastifySchema
}

/** Call it before any route is registered; the list is complete once the server is ready. */
export function listRoutes(app: FastifyInstance): () => readonly RouteInfo[] {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  return () => routes.flatMap(infoOf)
}

function infoOf({ method, url, config, schema = {} }: RouteOptions): RouteInfo[] {
  if (schema.hide) return []
  return [method]
    .flat()
    .filter((name) => name !== 'HEAD' && name !== 'OPTIONS')
    .map((name) => ({ method: name, path: url, routeGroup: config?.routeGroup, schema }))
}

/**
 * Says of all routes of a scope, and of the requests that get to them, which route group they belong to. Call it first.
 */
export function setRouteGroup(scope: FastifyInstance, routeGroup: RouteGroup): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, routeGroup }
  })
  // Fastify makes its description of a route anew whenever it is asked for, which costs more than all else that
  // counting takes.
  scope.addHook('onRequest', (request, _reply, done) => {
    request.routeGroup = routeGroup
    done()
  })
}
