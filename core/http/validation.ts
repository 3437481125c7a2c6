// How routes check what they were sent: our schemas in place of Fastify's own validator, and one sentence for what does
// not fit.
import type { FastifySchemaCompiler } from 'fastify'
import { GatewayError } from '../errors.ts'
import { type Check, compileCheck, firstProblem, type JsonSchema } from '../typebox.ts'

/** No coercion, no defaults, no removal of unknown fields: the value is judged as it came. */
export const compileValidator: FastifySchemaCompiler<JsonSchema> = ({ schema, httpPart }) => {
  // Compiled when first needed: that takes milliseconds, and the start has none to spare.
  let check: Check | undefined
  return (value: unknown) => {
    check ??= compileCheck(schema)
    return check.fits(value) ? true : { error: misfit(check, value, httpPart) }
  }
}

function misfit(check: Check, value: unknown, part = 'body'): GatewayError {
  return new GatewayError('invalid_request', `${firstProblem(check.problems(value), `the ${part}`)}.`)
}
