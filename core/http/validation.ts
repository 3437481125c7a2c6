// Validates requests against the schemas of routes, in place of Fastify's own validator.
import type { FastifySchemaCompiler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { type Check, compileCheck, firstProblem, type JsonSchema } from '../typebox.ts'

/** Checks the value without coercion, defaults or removal of unknown fields. */
export const compileValidator: FastifySchemaCompiler<JsonSchema> = ({ schema, httpPart }) => {
  // Compiled when first needed: that takes milliseconds, and the start has none to spare.
  let check: Check | undefined
  return (value: unknown) => {
    check ??= compileCheck(schema)
    return check.fits(value) ? true : { error: createError(check, value, httpPart) }
  }
}

function createError(check: Check, value: unknown, part = 'body'): GatewayError {
  return new GatewayError('invalid_request', `${firstProblem(check.problems(value), `the ${part}`)}.`)
}
