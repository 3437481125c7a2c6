// Validates requests against the schemas of routes, in place of Fastify's own validator.
import type { FastifySchemaCompiler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { type Check, compileCheck, firstProblem, type JsonSchema, unknownKey } from '../typebox.ts'

/** Checks the value without coercion, defaults or removal of unknown fields. */
export const compileValidator: FastifySchemaCompiler<JsonSchema> = ({ schema, httpPart }) => {
  // Compiled on first use. Compiling all schemas (about 40) would add 6 ms to the start and to each reload.
  let check: Check | undefined
  return (value: unknown) => {
    check ??= compileCheck(schema)
    return check.fits(value) ? true : { error: createError(check, value, httpPart) }
  }
}

function createError(check: Check, value: unknown, part = 'body'): GatewayError {
  const unknown =
    part === 'querystring' ? check.problems(value).find(({ problem }) => problem === unknownKey) : undefined
  if (unknown)
    return new GatewayError(
      'invalid_request',
      `The query parameter ${JSON.stringify(unknown.path.slice(0, 100))} is not known; check its name.`,
    )
  return new GatewayError('invalid_request', `${firstProblem(check.problems(value), `the ${part}`)}.`)
}
