// What one address of the control API is: its schemas, and a plain function from what was asked to what is answered.
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
  handle(asked: Asked): Promise<unknown>
}

/** What a caller sent, checked against the schemas. */
export interface Asked<Params = unknown, Query = unknown, Body = unknown> {
  params: Params
  query: Query
  body: Body
  /** The caller's address. */
  client: string
}

type TypeOf<Schema> = Schema extends TSchema ? Static<Schema> : unknown

type Definition<Schema extends EndpointSchema> = Pick<Endpoint, 'method' | 'path'> & {
  schema: Schema
  handle(
    asked: Asked<TypeOf<Schema['params']>, TypeOf<Schema['querystring']>, TypeOf<Schema['body']>>,
  ): Promise<unknown>
}

/** Ties what a handler gets to the schemas that it is checked against. */
export const endpoint = <const Schema extends EndpointSchema>(definition: Definition<Schema>): Endpoint => definition
