// Lists the routes and their schemas, for the OpenAPI document and the list of extensions.
import type { FastifyInstance, FastifyRequest, FastifySchema, RouteOptions } from 'fastify'
import type { JsonSchema } from '../typebox.ts'
import type { Access } from './access.ts'

/** A group of routes that share one credential, or need none. */
export type RouteGroup = 'hooks' | 'channels' | 'tools' | 'mcp' | 'control' | 'socket' | 'health' | 'docs' | 'page'

declare module 'fastify' {
  interface FastifyContextConfig {
    routeGroup?: RouteGroup
  }
  interface FastifySchema {
    /** One sentence that says what the route does. */
    summary?: string
    /** Headers that the handler reads and checks itself. */
    readsHeaders?: JsonSchema
    /**
     * The schema of the body for whoever reads the document, if it says more than `body` or if the handler checks the
     * body itself. It may become known after the start.
     */
    readsBody?: (reader: DocumentReader) => JsonSchema | undefined
    /** True: the body may also be a form, of either kind. */
    readsForms?: boolean
    /** Whether it also accepts any other text. */
    readsText?: boolean
    /** True: senders sign their requests, so the credential of the route group is not needed. */
    signed?: boolean
    /** True: HEAD has a route of its own. The one that Fastify adds to a GET is not listed. */
    isHead?: boolean
    /** True: the route is a fallback and is not listed. */
    hide?: boolean
  }
}

/** The request of whoever reads the document. */
export type DocumentReader = FastifyRequest

export interface RouteInfo {
  method: string
  /** In Fastify's notation: `/runs/:id`. */
  path: string
  routeGroup: RouteGroup | undefined
  /** What the caller needs, in the route groups with roles. */
  access?: Access | undefined
  schema: FastifySchema
}

/** Call it before you register routes. The list is complete when the server is ready. */
export function listRoutes(app: FastifyInstance): () => readonly RouteInfo[] {
  const routes: RouteOptions[] = []
  app.addHook('onRoute', (route) => void routes.push(route))
  return () => routes.flatMap(describeRoute)
}

function describeRoute({ method, url, config, schema = {} }: RouteOptions): RouteInfo[] {
  if (schema.hide) return []
  return [method]
    .flat()
    .filter((name) => (name !== 'HEAD' || schema.isHead) && name !== 'OPTIONS')
    .map((name) => ({ method: name, path: url, routeGroup: config?.routeGroup, access: config?.access, schema }))
}

/** Sets the route group of all routes of a scope. Call it before you register routes. */
export function setRouteGroup(scope: FastifyInstance, routeGroup: RouteGroup): void {
  scope.addHook('onRoute', (route) => {
    route.config = { ...route.config, routeGroup }
  })
}
