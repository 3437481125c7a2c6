// Makes the parser of the command line from the declarations of commands. Only this file knows Commander.
import { Argument, Command as Parser, InvalidArgumentError, Option } from 'commander'
import { parseCount } from '../kit/command-input.ts'
import type { Command, CommandArgument, CommandOption } from '../plugin/command.ts'
import { InputError, isInputError } from '../plugin/errors.ts'

/** A declaration as the command line has it. */
export interface ListedCommand extends Omit<Command, 'kind'> {
  /** Runs without a name. */
  isDefault?: true
  /** Is not listed: other processes of the gateway call it. */
  isHidden?: true
  /** The process goes on when `run` has resolved. That of any other command ends. */
  staysRunning?: true
  /** The entry of `plugins` that it comes from. Absent: it is built in. */
  plugin?: string
}

/** An option whose value is a file. */
export const fileOption = (description: string) => ({ value: '<file>', description, completes: 'file' }) as const

/** The options of every command that calls the running gateway. */
export const controlOptions = {
  config: fileOption('configuration file with the address and credential of the gateway (default: as for start)'),
  url: {
    value: '<address>',
    description: 'address of the gateway (default: $SVC_GATEWAY_URL, or the configuration)',
    parse: parseAddress,
  },
  token: {
    value: '<credential>',
    description: 'credential of the gateway (default: $SVC_GATEWAY_TOKEN, or the configuration)',
  },
} as const satisfies Record<string, CommandOption>

const configurationOptions: Readonly<Record<string, CommandOption>> = {
  config: fileOption('configuration file (default: as for start)'),
}

/** The options of a command by name, with those that follow from what it needs. It may describe these in its words. */
export function optionsOf({ options, needs = [], json, limit, plugin }: ListedCommand): Record<string, CommandOption> {
  const standard = {
    // The configuration names the plugin.
    ...((plugin !== undefined || needs.includes('configuration')) && configurationOptions),
    ...(needs.includes('control') && controlOptions),
    ...(limit !== undefined && {
      limit: { value: '<number>', description: 'maximum number of lines', parse: parseCount, default: limit },
    }),
    ...(json !== undefined && { json: { description: json } }),
  } satisfies Record<string, CommandOption>
  return { ...options, ...standard, ...options }
}

export function parseAddress(text: string): string {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text))
    throw new InputError('It must be an address such as http://127.0.0.1:18789.')
  return text.replace(/\/+$/, '')
}

/** `dryRun` → `dry-run` */
export const kebabCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)

const pluginHelp = `
Plugins add commands, which are not listed here: this help imports no plugin.`

type Execute = (command: ListedCommand, input: Record<string, unknown>) => Promise<void>

export function createParser(commands: readonly ListedCommand[], version: string, execute: Execute): Parser {
  const program = new Parser('svc-gateway')
    .description('Runs agents and connects them to the outside world over HTTP.')
    .version(version)
    .addHelpText('after', pluginHelp)
  const groups = new Map<string, Parser>()
  for (const command of commands) {
    const [first = '', second] = command.name.split(' ')
    const group = second === undefined ? program : (groups.get(first) ?? program.command(first))
    if (second !== undefined) groups.set(first, group)
    if (second !== undefined && command.group !== undefined) group.description(command.group)
    addCommand(group, second ?? first, { command, execute })
  }
  return program
}

function addCommand(group: Parser, name: string, { command, execute }: { command: ListedCommand; execute: Execute }) {
  const { arguments: words = {}, description, examples, isDefault, isHidden: hidden, plugin } = command
  const options = Object.entries(optionsOf(command))
  const parser = group.command(name, { isDefault, hidden }).description(description)
  if (plugin !== undefined) parser.helpGroup('Commands of plugins:')
  for (const [key, argument] of Object.entries(words)) parser.addArgument(createArgument(key, argument))
  for (const [key, option] of options) parser.addOption(createOption(key, option))
  const lines = examples.map((line) => `  $ svc-gateway ${line}`.trimEnd())
  parser.addHelpText('after', ['', `${lines.length === 1 ? 'Example' : 'Examples'}:`, ...lines].join('\n'))
  parser.action(async (...given: unknown[]) => {
    const values = parser.opts<Record<string, unknown>>()
    const input = [
      ...Object.keys(words).map((key, index) => [key, given[index]]),
      // Of `--no-test`, Commander makes `test: false`.
      ...options.map(([key]) => [key, negated(key) === undefined ? values[key] : values[negated(key) ?? ''] === false]),
    ]
    await execute(command, Object.fromEntries(input) as Record<string, unknown>)
  })
}

/** `noTest` → `test` */
const negated = (key: string): string | undefined =>
  /^no[A-Z]/.test(key) ? key.charAt(2).toLowerCase() + key.slice(3) : undefined

function createArgument(key: string, { description, choices, optional }: CommandArgument): Argument {
  const argument = new Argument(optional ? `[${kebabCase(key)}]` : `<${kebabCase(key)}>`, description)
  return choices ? argument.choices(choices) : argument
}

function createOption(key: string, { value, description, choices, ...about }: CommandOption): Option {
  const { parse = (text: string): unknown => text, repeatable = false, required } = about
  const option = new Option([`--${kebabCase(key)}`, value].filter(Boolean).join(' '), description).makeOptionMandatory(
    required ?? false,
  )
  const fallback = repeatable ? [] : about.default
  if (fallback !== undefined) option.default(fallback)
  if (choices) return option.choices(choices)
  return option.argParser<unknown>((text, before) => {
    try {
      return repeatable ? [...(before as unknown[]), parse(text)] : parse(text)
    } catch (error) {
      throw isInputError(error) ? new InvalidArgumentError(error.message) : error
    }
  })
}
