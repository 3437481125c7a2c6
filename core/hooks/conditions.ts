// Compiles the conditions of `match` and `skip` on the headers, the payload and the elements of a request.
import type { Condition, SkipConditions, Tests } from '../config/schema/conditions.ts'
import type { TemplateScope } from '../config/template/template.ts'
import { lookUp, parsePath } from '../config/template/path.ts'

type Matched = Pick<TemplateScope, 'headers' | 'payload' | 'item'>

/** Whether all conditions hold. */
export type Matches = (request: Matched) => boolean

/** Undefined: there are no conditions. */
export function compileConditions({ headers = {}, payload = {}, item = {} }: SkipConditions): Matches | undefined {
  const ofHeaders = Object.entries(headers).map(([name, condition]): Matches => {
    const [path, fits] = [[name.toLowerCase()], compileCondition(condition)]
    return (request) => fits(lookUp(request.headers, path))
  })
  const inBody = (part: 'payload' | 'item', conditions: Readonly<Record<string, Condition>>): Matches[] =>
    Object.entries(conditions).map(([text, condition]) => {
      const [path = [], fits] = [parsePath(text), compileCondition(condition)]
      return (request) => fits(toComparable(lookUp(request[part], path)))
    })
  // Headers first, because they are cheaper.
  const all = [...ofHeaders, ...inBody('payload', payload), ...inBody('item', item)]
  return all.length === 0 ? undefined : (request) => all.every((matches) => matches(request))
}

/** An integer beyond 2^53 is the text of its digits, because the configuration can write it only so. */
const toComparable = (value: unknown): unknown => (Array.isArray(value) ? value.map(digitsOf) : digitsOf(value))

const digitsOf = (value: unknown): unknown => (typeof value === 'bigint' ? String(value) : value)

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
  contains: (wanted) => (value) =>
    Array.isArray(value) ? value.includes(wanted) : typeof value === 'string' && value.includes(String(wanted)),
  matches: (pattern) => (value) => typeof value === 'string' && matchesPattern(value, pattern),
}

function compileCondition(condition: Condition): Fits {
  if (typeof condition !== 'object' || condition === null) return compileTest.equals(condition)
  const { not, ...others } = condition
  const tests = Object.entries(others).map(([name, wanted]) => {
    const compile = compileTest[name as keyof Tests] as (wanted: unknown) => Fits
    return compile(wanted)
  })
  if (not !== undefined) {
    const fits = compileCondition(not)
    tests.push((value) => !fits(value))
  }
  return (value) => tests.every((fits) => fits(value))
}

/** The part of a text that a pattern looks at. */
const maxMatched = 10_000

/** Goes back to the last `*` only, so the time is bounded by the product of both lengths. */
function matchesPattern(text: string, pattern: string): boolean {
  if (text.length > maxMatched) return false
  let [at, next, star, starAt] = [0, 0, -1, 0]
  while (at < text.length) {
    if (pattern[next] === '*') [star, starAt] = [next++, at]
    else if (pattern[next] === '?' || pattern[next] === text[at]) [at, next] = [at + 1, next + 1]
    else if (star === -1) return false
    else [at, next] = [++starAt, star + 1]
  }
  while (pattern[next] === '*') next++
  return next === pattern.length
}

type SkipRules = SkipConditions | readonly SkipConditions[]

/** Returns the index of the first rule that holds. */
export function compileSkip(skip: SkipRules | undefined): ((request: Matched) => number | undefined) | undefined {
  return compileRules(skip, ({ item }) => item === undefined)
}

/** The same for the rules on elements of `forEach`. */
export function compileItemSkip(skip: SkipRules | undefined): ((request: Matched) => number | undefined) | undefined {
  return compileRules(skip, ({ item }) => item !== undefined)
}

function compileRules(skip: SkipRules | undefined, isWanted: (rule: SkipConditions) => boolean) {
  const rules = [skip ?? []].flat().map((rule) => (isWanted(rule) ? compileConditions(rule) : undefined))
  if (!rules.some(Boolean)) return undefined
  return (request: Matched): number | undefined => {
    const index = rules.findIndex((matches) => matches?.(request))
    return index === -1 ? undefined : index
  }
}
