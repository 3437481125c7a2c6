// Checks the declaration of an extension, and describes each fault in one sentence that says how to fix it.
import { actionFields } from '../action.ts'
import { gatewayKeysOfChannel, gatewayKeysOfProvider } from '../config/schema/extensions.ts'
import { commonAuthKeys } from '../config/schema/hook-auth.ts'
import { HooksSection } from '../config/schema/hooks.ts'
import { Mapping } from '../config/schema/mappings.ts'
import { isRecord } from '../config/walk.ts'
import { escapeInLine } from '../kit/escape-for-terminal.ts'
import type {
  ChannelLimits,
  CommandArgument,
  CommandOption,
  Extension,
  ModelServer,
  ModelService,
  PresetSetup,
  TextMarks,
  Tool,
} from '../plugin/plugin.ts'

import {
  type Fault,
  fault,
  inside,
  isText,
  memberFaults,
  type Fields,
  type Members,
  type VerifyOptions,
} from './members.ts'
import { panelFault } from './verify-panel.ts'
import { schemeFaults } from './verify-scheme.ts'

type Kind = Extension['kind']
type OfKind<One extends Kind> = Extract<Extension, { kind: One }>

/** Every member of the contract. What has none of these names is a typing error. */
const members: { [One in Kind]: Members<OfKind<One>> } = {
  channel: {
    description: 'text',
    config: 'settings',
    target: 'schema',
    limits: 'object',
    connect: 'function',
    aliases: 'list?',
    sender: 'schema?',
    group: 'schema?',
    normalizeId: 'function?',
    packages: 'function?',
    login: 'function?',
    logout: 'function?',
    panel: 'anything?',
  },
  toolset: {
    description: 'text',
    config: 'settings?',
    tools: 'list?',
    open: 'function?',
    expected: 'function?',
    panel: 'anything?',
  },
  provider: {
    description: 'text',
    config: 'settings',
    models: 'function',
    pricing: 'function?',
    listModels: 'function?',
    service: 'object?',
    localServers: 'list?',
  },
  preset: {
    description: 'text',
    payload: 'schema',
    mapping: 'object',
    auth: 'object?',
    config: 'settings?',
    deliveryId: 'function?',
    toAction: 'function?',
    samples: 'function?',
    start: 'function?',
    needsJob: 'function?',
    packages: 'function?',
    setup: 'object?',
    panel: 'anything?',
  },
  scheme: {
    description: 'text',
    config: 'settings?',
    findProblems: 'function?',
    secret: 'anything?',
    signatures: 'anything?',
    tokens: 'anything?',
    createVerifier: 'function?',
    hiddenHeaders: 'list?',
    covers: 'list?',
    sign: 'function?',
    answerHandshake: 'function?',
    createChallenge: 'function?',
    acknowledge: 'function?',
  },
  command: {
    description: 'text',
    run: 'function',
    examples: 'list',
    group: 'text?',
    arguments: 'object?',
    options: 'object?',
    needs: 'list?',
    json: 'text?',
    limit: 'anything?',
  },
}

const toolMembers: Members<Tool> = {
  description: 'text',
  args: 'settings',
  execute: 'function',
  group: 'text?',
  optIn: 'flag?',
  effects: 'anything?',
  external: 'anything?',
  service: 'text?',
  changes: 'anything?',
  repeatable: 'flag?',
}

const limitMembers: Members<ChannelLimits> = {
  maxText: 'anything',
  unit: 'anything?',
  format: 'anything?',
  idempotency: 'anything',
  maxFileBytes: 'anything?',
  maxCaption: 'anything?',
  maxChoices: 'anything?',
}

const markMembers: Members<TextMarks> = {
  bold: 'list?',
  italic: 'list?',
  strike: 'list?',
  code: 'list?',
  codeBlock: 'list?',
  endAtLines: 'flag?',
}

const setupMembers: Members<PresetSetup> = { answers: 'settings', run: 'function' }
const serviceMembers: Members<ModelService> = { title: 'text', keyVariables: 'list', model: 'text', traceName: 'text?' }
const serverMembers: Members<ModelServer> = { title: 'text', baseUrl: 'text' }

/** Of an argument or an option of a command. */
const valueMembers: Members<CommandArgument & CommandOption> = {
  description: 'text',
  choices: 'list?',
  completes: 'text?',
  optional: 'flag?',
  value: 'text?',
  required: 'flag?',
  repeatable: 'flag?',
  default: 'anything?',
  parse: 'function?',
}

/** The commands of the gateway itself. */
export const coreCommands: readonly string[] = [
  'backup',
  'check',
  'complete',
  'completion',
  'doctor',
  'help',
  'plugin add',
  'plugin check',
  'plugin list',
  'plugin new',
  'plugin remove',
  'probe-plugin',
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
  toolset: { names: ['profile', 'allow', 'ask', 'deny', 'subagents', 'effects', 'rename', 'channels'], settings: [] },
  provider: { names: [], settings: [...gatewayKeysOfProvider] },
  preset: {
    names: [...actionFields.action.enum, ...Object.keys(HooksSection.properties)],
    settings: Object.keys(Mapping.properties),
  },
  scheme: { names: [], settings: commonAuthKeys },
  command: { names: coreCommands, settings: [] },
}

const defines = 'defineChannel, defineToolset, defineProvider, definePreset, defineScheme or defineCommand'

/** Finds everything that is wrong with a declaration, as far as it can be seen without the others. */
export function findFaults(extension: unknown): Fault[] {
  if (!isRecord(extension)) {
    const what = extension === undefined ? 'missing' : 'not an extension'
    return [fault('', `its default export is ${what}; export what ${defines} returns, or a list of them`)]
  }
  const { kind } = extension
  if (!isKind(kind)) return [fault('kind', `its kind is unknown; declare it with ${defines}`)]
  return [...faultsOf(kind, extension, { compile: true })]
}

/** Finds what is wrong with one tool, also with a tool that a toolset opens later. */
export const findToolFaults = (tool: unknown, options: VerifyOptions): Fault[] => [...toolFaults(tool, options)]

function* faultsOf(kind: Kind, extension: Fields, options: VerifyOptions): Iterable<Fault> {
  const name = nameFault(kind, extension['name'])
  if (name !== undefined) yield fault('name', name)
  yield* memberFaults(extension, { members: members[kind], of: `a ${kind}`, also: ['kind', 'name'] }, options)
  yield* takenSettings(kind, extension['config'])
  const panel = hasPanel(kind) && extension['panel'] !== undefined && panelFault(extension['panel'], options.compile)
  if (panel) yield fault('panel', panel)
  if (kind === 'channel') yield* channelFaults(extension, options)
  if (kind === 'toolset') yield* toolsetFaults(extension, options)
  if (kind === 'preset' && isRecord(extension['setup']))
    yield* inside('setup', memberFaults(extension['setup'], { members: setupMembers, of: 'a setup' }, options))
  if (kind === 'provider') yield* providerFaults(extension, options)
  if (kind === 'scheme') yield* schemeFaults(extension)
  if (kind === 'command') yield* commandFaults(extension, options)
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

function* takenSettings(kind: Kind, schema: unknown): Iterable<Fault> {
  const properties = isRecord(schema) && isRecord(schema['properties']) ? schema['properties'] : {}
  for (const key of taken[kind].settings.filter((one) => Object.hasOwn(properties, one)))
    yield fault(`config.properties.${key}`, `\`config\` declares "${key}", which every ${kind} already has; rename it`)
}

function* toolsetFaults({ tools, open }: Fields, options: VerifyOptions): Iterable<Fault> {
  if (open === undefined && (tools === undefined || (Array.isArray(tools) && tools.length === 0)))
    yield fault('tools', 'it has no tools; give `tools`, or `open` if they need a connection')
  for (const [index, tool] of (Array.isArray(tools) ? tools : []).entries())
    for (const { member, ...rest } of toolFaults(tool, options)) yield { member: `tools[${index}].${member}`, ...rest }
}

function* toolFaults(tool: unknown, options: VerifyOptions): Iterable<Fault> {
  if (!isRecord(tool) || typeof tool['name'] !== 'string') {
    yield fault('name', 'a tool has no name; declare it with defineTool')
    return
  }
  const { name, effects, changes } = tool
  const shown = escapeInLine(name.slice(0, 80))
  if (!/^[a-z][a-z0-9_]{0,63}$/.test(name))
    yield fault('name', `its tool "${shown}" has no valid name; it must be snake_case, at most 64 characters`)
  for (const { problem, ...rest } of memberFaults(
    tool,
    { members: toolMembers, of: 'a tool', also: ['name'] },
    options,
  ))
    yield { problem: `in its tool "${shown}", ${problem}`, ...rest }
  // A typing error would silently withhold the tool, or allow it.
  const isEffect = (effect: unknown) => effect === 'reads-private' || effect === 'sends'
  const isSound =
    effects === undefined || typeof effects === 'function' || (Array.isArray(effects) && effects.every(isEffect))
  const problem = '`effects` must be a list of "reads-private" and "sends", or a function that returns one'
  if (!isSound) yield fault('effects', `in its tool "${shown}", ${problem}`)
  if (changes !== undefined && changes !== 'nothing' && changes !== 'adds')
    yield fault(
      'changes',
      `in its tool "${shown}", \`changes\` must be "nothing" or "adds"; leave it out if a call may overwrite or delete`,
    )
}

function* providerFaults({ service, localServers }: Fields, options: VerifyOptions): Iterable<Fault> {
  if (isRecord(service))
    yield* inside('service', memberFaults(service, { members: serviceMembers, of: 'a service' }, options))
  for (const [index, server] of (Array.isArray(localServers) ? localServers : []).entries()) {
    const of = { members: serverMembers, of: 'a server', also: ['name'] }
    if (isRecord(server)) yield* inside(`localServers[${index}]`, memberFaults(server, of, options))
    else yield fault('localServers', '`localServers` must be a list of objects with a name, a title and a baseUrl')
  }
}

const isOptionName = (name: string): boolean => /^[a-z][A-Za-z0-9]{0,31}$/.test(name) && name !== 'help'

function* commandFaults({ examples, needs = [], ...command }: Fields, options: VerifyOptions): Iterable<Fault> {
  for (const field of ['arguments', 'options']) {
    const values = command[field]
    for (const [name, value] of isRecord(values) ? Object.entries(values) : []) {
      const place = `${field}.${name.slice(0, 80)}`
      if (!isOptionName(name))
        yield fault(place, `"${name.slice(0, 80)}" in \`${field}\` must be a name in camel case other than "help"`)
      if (isRecord(value)) yield* inside(place, memberFaults(value, { members: valueMembers, of: 'it' }, options))
      else yield fault(place, `\`${place}\` must be an object with a description`)
    }
  }
  if (Array.isArray(examples) && (examples.length === 0 || !examples.every(isText)))
    yield fault('examples', '`examples` must be a list of command lines')
  const known = ['control', 'configuration']
  if (Array.isArray(needs) && needs.some((need) => !known.includes(need as string)))
    yield fault('needs', `\`needs\` must be a list of ${known.map((need) => `"${need}"`).join(' and ')}`)
}

function* channelFaults({ limits, aliases }: Fields, options: VerifyOptions): Iterable<Fault> {
  const names: readonly unknown[] = Array.isArray(aliases) ? aliases : []
  for (const [index, alias] of names.entries()) {
    const problem = nameFault('channel', alias)
    if (problem !== undefined) yield fault(`aliases[${index}]`, `in \`aliases\`, ${problem}`)
  }
  if (!isRecord(limits)) return
  yield* inside('limits', memberFaults(limits, { members: limitMembers, of: 'limits' }, options))
  for (const key of ['maxText', 'maxFileBytes', 'maxChoices']) {
    const isAbsent = key !== 'maxText' && limits[key] === undefined
    if (!isAbsent && (!Number.isSafeInteger(limits[key]) || (limits[key] as number) < 1))
      yield fault(`limits.${key}`, `\`limits.${key}\` must be a whole number of at least 1`)
  }
  const { maxCaption = 0 } = limits
  if (!Number.isSafeInteger(maxCaption) || (maxCaption as number) < 0)
    yield fault('limits.maxCaption', '`limits.maxCaption` must be a whole number of at least 0')
  yield* formatFaults(limits['format'], options)
  for (const [key, values] of Object.entries(limitChoices))
    if (!values.includes(limits[key] as string | undefined)) {
      const choices = values.filter((value) => value !== undefined).map((value) => `"${value}"`)
      yield fault(`limits.${key}`, `\`limits.${key}\` must be ${choices.join(', ')}`)
    }
}

function* formatFaults(format: unknown, options: VerifyOptions): Iterable<Fault> {
  if (isRecord(format)) {
    yield* inside('limits.format', memberFaults(format, { members: markMembers, of: 'the marks' }, options))
    for (const [name, mark] of Object.entries(format))
      if (Array.isArray(mark) && !(mark.length === 2 && mark.every((part) => typeof part === 'string')))
        yield fault(
          `limits.format.${name}`,
          `\`limits.format.${name}\` must be two texts: what opens the style, and what closes it`,
        )
  } else if (![undefined, 'markdown', 'html', 'plain', 'ranges'].includes(format as string | undefined)) {
    const choices = '"markdown", "html", "plain", "ranges", or the marks of the platform'
    yield fault('limits.format', `\`limits.format\` must be ${choices}`)
  }
}

/** `undefined`: the key may be absent. */
const limitChoices: Readonly<Record<string, readonly (string | undefined)[]>> = {
  idempotency: ['native', 'reconcile', 'none'],
  unit: [undefined, 'utf16', 'codepoints', 'bytes'],
}

const hasPanel = (kind: Kind) => kind === 'channel' || kind === 'toolset' || kind === 'preset'
const isKind = (value: unknown): value is Kind => typeof value === 'string' && Object.hasOwn(members, value)
