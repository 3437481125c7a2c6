// Compiles the conditions of `match` and `skip` on the headers and the payload of a request.
import type { Condition, Conditions, Tests } from '../config/schema/conditions.ts'
import { lookUp, parsePath } from '../config/template/path.ts'
import type { MappedRequest } from './mapped-request.ts'

/** Whether all conditions hold. */
export type Matches = (request: Pick<MappedRequest, 'headers' | 'payload'>) => boolean

/** Undefined: there are no conditions. */
export function compileConditions({ headers = {}, payload = {} }: Conditions): Matches | undefined {
  const ofHeaders = Object.entries(headers).map(([name, condition]): Matches => {
    const [path, fits] = [[name.toLowerCase()], compileCondition(condition)]
    return (request) => fits(lookUp(request.headers, path))
  })
  const ofPayload = Object.entries(payload).map(([text, condition]): Matches => {
    const [path = [], fits] = [parsePath(text), compileCondition(condition)]
    return (request) => fits(lookUp(request.payload, path))
  })
  // Headers first, because they are cheaper.
  const all = [...ofHeaders, ...ofPayload]
  return all.length === 0 ? undefined : (request) => all.every((matches) => matches(request))
}

type Fits = (value: unknown) => boolean

/** JSON has no undefined: it stands for a missing value. */
const compileTest: { [Name in keyof Required<Tests>]: (wanted: Required<Tests>[Name]) => Fits } = {
  equals: (wanted) => (value) => value === wanted,
  in: (wanted) => {
    const values = new Set<unknown>(wanted)
    return (value) => values.has(value)
  },
  exists: (wanted) => (value) => (value !== undefined) === wanted,
  startsWith: (wanted) => (value) => typeof value === 'string' && value.startsWith(wanted),
  endsWith: (wanted) => (value) => typeof value === 'string' && value.endsWith(wanted),
}

function compileCondition(condition: Condition): Fits {
  if (typeof condition !== 'object' || condition === null) return compileTest.equals(condition)
  const tests = Object.entries(condition).map(([name, wanted]) => {
    const compile = compileTest[name as keyof Tests] as (wanted: unknown) => Fits
    return compile(wanted)
  })
  return (value) => tests.every((fits) => fits(value))
}

/** Returns the index of the first rule that holds. */
export function compileSkip(
  skip: Conditions | readonly Conditions[] | undefined,
): ((request: Pick<MappedRequest, 'headers' | 'payload'>) => number | undefined) | undefined {
  if (skip === undefined) return undefined
  const rules = [skip].flat().map(compileConditions)
  return (request) => {
    const index = rules.findIndex((matches) => matches?.(request))
    return index === -1 ? undefined : index
  }
}
