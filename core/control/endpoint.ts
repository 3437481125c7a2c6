// An endpoint of the control API: its schemas, and a function that handles a request.
import { type ErrorCode, GatewayError } from '../errors.ts'
import type { Static, TSchema } from '../typebox.ts'

export interface EndpointSchema {
  summary: string
  params?: TSchema
  querystring?: TSchema
  body?: TSchema
  response: Readonly<Record<number, object>>
}

export interface Endpoint {
  method: 'GET' | 'POST'
  path: string
  schema: EndpointSchema
  /** True: the log has the path without its parameters. */
  hasSecretPath?: boolean
  handle(request: EndpointRequest): Promise<unknown>
}

/** A request that matches the schemas. */
export interface EndpointRequest<Params = unknown, Query = unknown, Body = unknown> {
  params: Params
  query: Query
  body: Body
  /** The caller's address. */
  client: string
}

type TypeOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown

type Definition<Schema extends EndpointSchema> = Pick<Endpoint, 'method' | 'path' | 'hasSecretPath'> & {
  schema: Schema
  handle(
    request: EndpointRequest<TypeOf<Schema['params']>, TypeOf<Schema['querystring']>, TypeOf<Schema['body']>>,
  ): Promise<unknown>
}

/** Infers the types of the handler's arguments from the schemas. */
export const endpoint = <const Schema extends EndpointSchema>(definition: Definition<Schema>): Endpoint => definition

/** Returns the record that a request names, or throws if there is none. */
export function found<Value>(value: Value | undefined, code: ErrorCode): Value {
  if (value === undefined) throw new GatewayError(code)
  return value
}
