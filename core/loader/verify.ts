// Checks the declaration of an extension, and describes in one sentence what is wrong and how to fix it.
import { actionFields } from '../action.ts'
import { gatewayKeysOfChannel, gatewayKeysOfProvider } from '../config/schema/extensions.ts'
import { commonAuthKeys } from '../config/schema/hook-auth.ts'
import { HooksSection } from '../config/schema/hooks.ts'
import { Mapping } from '../config/schema/mappings.ts'
import { firstLineOf } from '../errors.ts'
import type { Extension, Tool } from '../plugin/plugin.ts'
import { compileCheck } from '../typebox.ts'
import { schemeFaults } from './verify-scheme.ts'

type Kind = Extension['kind']
type Fields = Record<string, unknown>
type Need = 'text' | 'schema' | 'settings' | 'function' | 'object'

/** What each kind must declare. `settings` is the schema of an object: a section of the configuration. */
const needs: Record<Kind, Record<string, Need>> = {
  channel: { description: 'text', config: 'settings', target: 'schema', limits: 'object', connect: 'function' },
  toolset: { description: 'text' },
  provider: { description: 'text', config: 'settings', models: 'function' },
  preset: { description: 'text', payload: 'schema', mapping: 'object' },
  scheme: { description: 'text' },
  command: { description: 'text', run: 'function' },
}

/** The commands of the gateway itself. */
export const coreCommands: readonly string[] = [
  'backup',
  'check',
  'complete',
  'completion',
  'doctor',
  'help',
  'plugin new',
  'probe-plugins',
  'restore',
  'setup',
  'start',
  'start-watched',
  'store migrate',
  'transform new',
  'transform test',
  'trigger',
]

/** Names that mean something else where an extension's name, or a key of its settings, would stand. */
const taken: Record<Kind, { names: readonly string[]; settings: readonly string[] }> = {
  channel: { names: ['last', 'none'], settings: [...gatewayKeysOfChannel] },
  toolset: { names: ['profile', 'allow', 'deny', 'subagents', 'effects', 'channels'], settings: [] },
  provider: { names: [], settings: [...gatewayKeysOfProvider] },
  preset: {
    names: [...actionFields.action.enum, ...Object.keys(HooksSection.properties)],
    settings: Object.keys(Mapping.properties),
  },
  scheme: { names: [], settings: commonAuthKeys },
  command: { names: coreCommands, settings: [] },
}

const defines = 'defineChannel, defineToolset, defineProvider, definePreset, defineScheme or defineCommand'

/** @returns the fault as the end of a sentence, or nothing if the extension can be used */
export function findFault(extension: unknown, options: { compile: boolean }): string | undefined {
  return faultsOf(extension, options.compile).find((fault) => fault !== undefined)
}

/** Each check relies on those before it, so the caller stops at the first fault. */
function* faultsOf(extension: unknown, compile: boolean): Generator<string | undefined> {
  if (!isObject(extension)) {
    const what = extension === undefined ? 'missing' : 'not an extension'
    yield `its default export is ${what}; export what ${defines} returns, or a list of them`
    return
  }
  const { kind, name } = extension
  if (!isKind(kind)) {
    yield `its kind is unknown; declare it with ${defines}`
    return
  }
  yield nameFault(kind, name)
  for (const [field, need] of Object.entries(needs[kind]))
    yield fieldFault(field, need, { value: extension[field], compile })
  yield settingsFault(kind, extension['config'])
  if (kind === 'channel') yield* channelFaults(extension, compile)
  if (kind === 'toolset') yield* toolsetFaults(extension, compile)
  if (kind === 'preset') yield* optionalFaults(extension, optionalOfPreset, compile)
  if (kind === 'scheme') {
    yield* optionalFaults(extension, optionalOfScheme, compile)
    yield* schemeFaults(extension)
  }
  if (kind === 'command') yield* commandFaults(extension)
  if (kind === 'provider' && extension['listModels'] !== undefined)
    yield fieldFault('listModels', 'function', { value: extension['listModels'], compile })
}

/** @returns why an extension cannot have this name, as the end of a sentence */
export function nameFault(kind: Kind, name: unknown): string | undefined {
  if (kind === 'command') return commandNameFault(name)
  if (typeof name !== 'string' || !/^[a-z0-9][a-z0-9-]{0,63}$/.test(name)) {
    return 'its name must be lower-case letters, digits and dashes, 64 at most, and not begin with a dash'
  }
  return taken[kind].names.includes(name) ? `the name "${name}" is reserved; choose another one` : undefined
}

function commandNameFault(name: unknown): string | undefined {
  if (typeof name !== 'string' || !/^[a-z][a-z0-9-]{0,31}(?: [a-z][a-z0-9-]{0,31})?$/.test(name))
    return 'its name must be one or two words of lower-case letters, digits and dashes'
  const other = taken.command.names.find((one) => isSameCommand(one, name))
  return other && `the gateway itself has the command "${other}"; rename it`
}

/** `runs` and `runs list` exclude each other, because the first is a command and the other one makes it a group. */
export const isSameCommand = (one: string, other: string): boolean =>
  one === other || one.startsWith(`${other} `) || other.startsWith(`${one} `)

function fieldFault(
  field: string,
  need: Need,
  { value, compile }: { value: unknown; compile: boolean },
): string | undefined {
  switch (need) {
    case 'text':
      return isText(value) ? undefined : `\`${field}\` is missing; describe its purpose in one sentence`
    case 'function':
      return typeof value === 'function' ? undefined : `\`${field}\` must be a function`
    case 'object':
      return isObject(value) ? undefined : `\`${field}\` must be an object`
    case 'schema':
      return schemaFault(field, value, compile)
    case 'settings':
      return schemaFault(field, value, compile) ?? objectSchemaFault(field, value)
    default:
      return need satisfies never
  }
}

/** The library of a schema that is no JSON Schema, also of one inside a JSON Schema. */
function foreignLibrary(schema: unknown, depth = 0): string | undefined {
  if ((typeof schema !== 'object' && typeof schema !== 'function') || schema === null || depth > 8) return undefined
  const { vendor } = ((schema as Fields)['~standard'] ?? {}) as { vendor?: unknown }
  if (typeof vendor === 'string') return vendor
  // Older versions of Zod have no such mark.
  if (isObject(schema) && isObject(schema['_def']) && typeof schema['parse'] === 'function') return 'zod'
  if (!isObject(schema)) return undefined
  for (const child of Object.values(schema)) {
    const vendorOfChild = foreignLibrary(child, depth + 1)
    if (vendorOfChild !== undefined) return vendorOfChild
  }
  return undefined
}

/** Compiling is slow, so tests compile the built-in schemas instead of every start. */
function schemaFault(field: string, schema: unknown, compile: boolean): string | undefined {
  const library = compile ? foreignLibrary(schema) : undefined
  if (library !== undefined)
    return `\`${field}\` is a schema of ${library}, not a JSON Schema; build it with Type, or convert it`
  if (!isObject(schema)) return `\`${field}\` must be a JSON Schema; an empty one is Type.Object({})`
  if (!compile) return undefined
  try {
    compileCheck(schema)
    return undefined
  } catch (error) {
    return `\`${field}\` is not a JSON Schema that can be compiled (${firstLineOf(error)})`
  }
}

function objectSchemaFault(field: string, schema: unknown): string | undefined {
  return (schema as Fields)['type'] === 'object'
    ? undefined
    : `\`${field}\` must be the schema of an object; declare it with Type.Object`
}

function settingsFault(kind: Kind, schema: unknown): string | undefined {
  const properties = isObject(schema) && isObject(schema['properties']) ? schema['properties'] : {}
  const clash = taken[kind].settings.find((key) => Object.hasOwn(properties, key))
  return clash && `\`config\` declares "${clash}", which every ${kind} already has; rename it`
}

function* toolsetFaults(toolset: Fields, compile: boolean): Generator<string | undefined> {
  const { config, tools, open, expected } = toolset
  if (config !== undefined) yield fieldFault('config', 'settings', { value: config, compile })
  if (expected !== undefined) yield fieldFault('expected', 'function', { value: expected, compile })
  if (open !== undefined) yield fieldFault('open', 'function', { value: open, compile })
  else if (!Array.isArray(tools) || tools.length === 0)
    yield 'it has no tools; give `tools`, or `open` if they need a connection'
  for (const tool of Array.isArray(tools) ? tools : []) yield toolFault(tool as Partial<Tool>, compile)
}

const optionalOfPreset: Record<string, Need> = {
  auth: 'object',
  config: 'settings',
  deliveryId: 'function',
  toAction: 'function',
  samples: 'function',
  start: 'function',
  needsJob: 'function',
  packages: 'function',
  setup: 'object',
}

const optionalOfScheme: Record<string, Need> = {
  config: 'settings',
  findProblems: 'function',
  createVerifier: 'function',
  sign: 'function',
  answerHandshake: 'function',
  createChallenge: 'function',
  acknowledge: 'function',
}

function* optionalFaults(
  extension: Fields,
  optional: Record<string, Need>,
  compile: boolean,
): Generator<string | undefined> {
  for (const [field, need] of Object.entries(optional))
    if (extension[field] !== undefined) yield fieldFault(field, need, { value: extension[field], compile })
}

function* commandFaults({ arguments: words = {}, options = {}, examples, needs = [] }: Fields): Generator<string> {
  for (const [field, values] of Object.entries({ arguments: words, options })) {
    if (!isObject(values)) yield `\`${field}\` must be an object`
    for (const [name, value] of Object.entries(values as Fields)) {
      if (!/^[a-z][A-Za-z0-9]{0,31}$/.test(name) || name === 'help')
        yield `"${name.slice(0, 80)}" in \`${field}\` must be a name in camel case other than "help"`
      if (!isObject(value) || !isText(value['description'])) yield `\`${field}.${name}\` has no description`
    }
  }
  if (!Array.isArray(examples) || examples.length === 0 || !examples.every(isText))
    yield '`examples` must be a list of command lines'
  const known = ['control', 'configuration']
  if (!Array.isArray(needs) || needs.some((need) => !known.includes(need as string)))
    yield `\`needs\` must be a list of ${known.map((need) => `"${need}"`).join(' and ')}`
}

function* channelFaults(channel: Fields, compile: boolean): Generator<string | undefined> {
  yield limitsFault(channel['limits'] as Fields)
  for (const field of ['sender', 'group'])
    if (channel[field] !== undefined) yield fieldFault(field, 'schema', { value: channel[field], compile })
  for (const field of ['login', 'logout', 'normalizeId', 'packages'])
    if (channel[field] !== undefined) yield fieldFault(field, 'function', { value: channel[field], compile })
}

function limitsFault(limits: Fields): string | undefined {
  if (!Number.isSafeInteger(limits['maxText']) || (limits['maxText'] as number) < 1)
    return '`limits.maxText` must be a whole number of at least 1'
  const { maxFileBytes } = limits
  if (maxFileBytes !== undefined && (!Number.isSafeInteger(maxFileBytes) || (maxFileBytes as number) < 1))
    return '`limits.maxFileBytes` must be a whole number of at least 1'
  for (const [key, values] of Object.entries(limitChoices))
    if (!values.includes(limits[key] as string | undefined))
      return `\`limits.${key}\` must be ${values
        .filter((value) => value !== undefined)
        .map((value) => `"${value}"`)
        .join(', ')}`
  return undefined
}

/** `undefined`: the key may be absent. */
const limitChoices: Readonly<Record<string, readonly (string | undefined)[]>> = {
  idempotency: ['native', 'reconcile', 'none'],
  unit: [undefined, 'utf16', 'codepoints', 'bytes'],
  format: [undefined, 'markdown', 'html', 'whatsapp', 'plain', 'ranges'],
}

/** @returns what is wrong with one tool, also with a tool that a toolset opens later */
export function toolFault(tool: Partial<Tool>, compile: boolean): string | undefined {
  if (!isObject(tool) || typeof tool.name !== 'string') return 'a tool has no name; declare it with defineTool'
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(tool.name))
    return `its tool "${tool.name.slice(0, 80)}" has no valid name; it must be snake_case, at most 64 characters`
  const fault =
    fieldFault('description', 'text', { value: tool.description, compile }) ??
    fieldFault('args', 'settings', { value: tool.args, compile }) ??
    fieldFault('execute', 'function', { value: tool.execute, compile }) ??
    repeatableFault(tool.repeatable) ??
    effectsFault(tool.effects)
  return fault && `in its tool "${tool.name}", ${fault}`
}

const repeatableFault = (repeatable: unknown): string | undefined =>
  repeatable === undefined || typeof repeatable === 'boolean' ? undefined : '`repeatable` must be true or false'

/** A typing error would silently withhold the tool, or allow it. */
function effectsFault(effects: unknown): string | undefined {
  const isEffect = (effect: unknown) => effect === 'reads-private' || effect === 'sends'
  const sound =
    effects === undefined || typeof effects === 'function' || (Array.isArray(effects) && effects.every(isEffect))
  return sound ? undefined : '`effects` must be a list of "reads-private" and "sends", or a function that returns one'
}

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown) => typeof value === 'string' && value.trim() !== ''
const isKind = (value: unknown): value is Kind => typeof value === 'string' && Object.hasOwn(needs, value)
