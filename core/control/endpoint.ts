// An endpoint of the control API: its schemas, and a function that handles a request.
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { Access, Principal } from '../http/access.ts'
import type { AuditedChange, AuditSource } from '../store/store.ts'
import type { Static, TSchema } from '../typebox.ts'

export interface EndpointSchema {
  summary: string
  params?: TSchema
  querystring?: TSchema
  headers?: TSchema
  body?: TSchema
  response: Readonly<Record<number, object>>
}

export interface Endpoint {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  access: Access
  schema: EndpointSchema
  /** True: the log has the path without its parameters. */
  hasSecretPath?: boolean
  /** The headers of a response over HTTP. */
  headersOf?(result: unknown): Readonly<Record<string, string>>
  handle(request: EndpointRequest): Promise<unknown>
}

/** A request that matches the schemas. */
export interface EndpointRequest<Params = unknown, Query = unknown, Body = unknown, Headers = unknown> {
  params: Params
  query: Query
  body: Body
  headers: Headers
  /** Who calls. An endpoint whose scope is `agents` limits itself to the agents of the caller. */
  principal: Principal
  /** The same, for the audit log. */
  source: AuditSource
  /** The action of the endpoint, for the audit log, to be stored with the change that it makes. */
  change(target: string, agentId?: string): AuditedChange
}

type TypeOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown

type Definition<Schema extends EndpointSchema> = Pick<
  Endpoint,
  'method' | 'path' | 'access' | 'hasSecretPath' | 'headersOf'
> & {
  schema: Schema
  handle(
    request: EndpointRequest<
      TypeOf<Schema['params']>,
      TypeOf<Schema['querystring']>,
      TypeOf<Schema['body']>,
      TypeOf<Schema['headers']>
    >,
  ): Promise<unknown>
}

/** Infers the types of the handler's arguments from the schemas. */
export const endpoint = <const Schema extends EndpointSchema>(definition: Definition<Schema>): Endpoint => definition

/** Returns the record that a request names, or throws if there is none. */
export function found<Value>(value: Value | undefined, code: ErrorCode): Value {
  if (value === undefined) throw new GatewayError(code)
  return value
}
