// Checks the members of a declaration: that they are there, what they are, and that the contract knows them.
import { nearest } from '../config/nearest.ts'
import { isRecord } from '../config/walk.ts'
import { firstLineOf } from '../errors.ts'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import { compileCheck, findSchemaProblems } from '../typebox.ts'

export type Fields = Record<string, unknown>

/** What is wrong with a declaration. */
export interface Fault {
  /** The member, such as `limits.maxText` or `tools[0].args`; empty for the declaration as a whole. */
  member: string
  /** What is wrong and how to fix it, as the end of a sentence about the declaration. */
  problem: string
  /** The extension can be used nevertheless. */
  warning?: true
}

export const fault = (member: string, problem: string): Fault => ({ member, problem })

export interface VerifyOptions {
  /** Whether schemas are checked, too. That is too slow for many tools at once that a toolset offers while it runs. */
  compile: boolean
}

/** What a member must be. `settings` is the schema of an object, a section of the configuration. `?`: it may be absent. */
export type Need = 'text' | 'flag' | 'schema' | 'settings' | 'function' | 'object' | 'list' | 'anything'
export type Members<Declared> = Record<Exclude<keyof Declared, 'kind' | 'name'>, Need | `${Need}?`>

interface Declared {
  members: Readonly<Record<string, string>>
  /** `a channel` */
  of: string
  /** Members that are checked elsewhere. */
  also?: readonly string[]
}

/** Members that are missing, of the wrong kind, or unknown. */
export function* memberFaults(
  value: Fields,
  { members: known, of, also = [] }: Declared,
  options: VerifyOptions,
): Iterable<Fault> {
  for (const [member, need] of Object.entries(known)) {
    if (value[member] === undefined && need.endsWith('?')) continue
    yield* needFaults(member, need.replace('?', '') as Need, { value: value[member], options })
  }
  // An object of a class may have members of its own.
  if (![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)) return
  const names = [...also, ...Object.keys(known)]
  for (const member of Object.keys(value).filter((key) => !names.includes(key))) {
    const shown = `\`${escapeInLine(member.slice(0, 80))}\``
    const meant = nearest(member, names)
    if (meant !== undefined) yield fault(member, `${shown} is not a member of ${of}; did you mean \`${meant}\`?`)
    else yield { member, problem: `${shown} is not a member of ${of}, so it has no effect; remove it`, warning: true }
  }
}

/** The faults of a part, with its place before them. */
export function* inside(place: string, faults: Iterable<Fault>): Iterable<Fault> {
  for (const { member, problem, ...rest } of faults)
    yield { member: `${place}.${member}`, problem: `in \`${place}\`, ${problem}`, ...rest }
}

interface Given {
  value: unknown
  options: VerifyOptions
}

function* needFaults(member: string, need: Need, { value, options }: Given): Iterable<Fault> {
  if (need === 'schema' || need === 'settings') {
    const faults = [...schemaFaults(member, value, options)]
    yield* faults
    if (need === 'settings' && faults.length === 0 && (value as Fields)['type'] !== 'object')
      yield fault(member, `\`${member}\` must be the schema of an object; declare it with Type.Object`)
    return
  }
  const isMissing = need === 'text' && (value === undefined || isBlank(value))
  const advice = member === 'description' ? '; describe its purpose in one sentence' : ''
  if (isMissing) yield fault(member, `\`${member}\` is missing${advice}`)
  else if (!fits[need](value)) yield fault(member, `\`${member}\` must be ${words[need]}`)
}

type Simple = Exclude<Need, 'schema' | 'settings'>

const fits: Readonly<Record<Simple, (value: unknown) => boolean>> = {
  text: (value) => typeof value === 'string' && !isBlank(value),
  flag: (value) => typeof value === 'boolean',
  function: (value) => typeof value === 'function',
  object: isRecord,
  list: Array.isArray,
  anything: () => true,
}

const words: Readonly<Record<Simple, string>> = {
  text: 'a text',
  flag: 'true or false',
  function: 'a function',
  object: 'an object',
  list: 'a list',
  anything: 'anything',
}

/** The library of a schema that is no JSON Schema, also of one inside a JSON Schema. */
function foreignLibrary(schema: unknown, depth = 0): string | undefined {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || depth > 8) return undefined
  const { vendor } = ((schema as Fields)['~standard'] ?? {}) as { vendor?: unknown }
  if (typeof vendor === 'string') return vendor
  // Older versions of Zod have no such mark.
  if (isRecord(schema) && isRecord(schema['_def']) && typeof schema['parse'] === 'function') return 'zod'
  if (!isRecord(schema)) return undefined
  for (const child of Object.values(schema)) {
    const vendorOfChild = foreignLibrary(child, depth + 1)
    if (vendorOfChild !== undefined) return vendorOfChild
  }
  return undefined
}

/** The compiler accepts most of what is not JSON Schema, and would check nothing there. */
function* schemaFaults(member: string, schema: unknown, { compile }: VerifyOptions): Iterable<Fault> {
  const library = compile ? foreignLibrary(schema) : undefined
  if (library !== undefined) {
    yield fault(member, `\`${member}\` is a schema of ${library}, not a JSON Schema; build it with Type, or convert it`)
    return
  }
  if (!isRecord(schema)) {
    yield fault(member, `\`${member}\` must be a JSON Schema; an empty one is Type.Object({})`)
    return
  }
  if (!compile) return
  const problems = findSchemaProblems(schema)
  for (const { path, problem } of problems)
    yield fault(`${member}.${path}`, `\`${member}\` is not a JSON Schema: \`${path}\` ${problem}`)
  if (problems.length > 0) return
  try {
    compileCheck(schema)
  } catch (error) {
    yield fault(member, `\`${member}\` is not a JSON Schema that can be compiled (${firstLineOf(error)})`)
  }
}

const isBlank = (value: unknown): boolean => typeof value === 'string' && value.trim() === ''
export const isText = (value: unknown): value is string => typeof value === 'string' && !isBlank(value)
