// The hidden command `complete`: prints what the last word of an unfinished command line may become, line by line.
import type { Argument, Command, Option } from 'commander'
import { type Candidate, listValues, type TypedOptions } from './values.ts'

export async function complete(program: Command, words: readonly string[]): Promise<void> {
  const typed = words.at(-1) ?? ''
  const found = await listCandidates(program, words)
  const lines = found
    .filter(({ value }) => value === ':files' || (value.startsWith(typed) && isPlain(value)))
    .map(({ value, description }) => [value, oneLine(description)].filter(Boolean).join('\t'))
  process.stdout.write([...new Set(lines)].map((line) => `${line}\n`).join(''))
}

/** Ids may contain text from outside, which must not do anything in a shell. */
const isPlain = (value: string): boolean => /^[\p{L}\p{N}_.:@/#+=,%-]+$/u.test(value)

const oneLine = (text = ''): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()

async function listCandidates(program: Command, words: readonly string[]): Promise<readonly Candidate[]> {
  const { command, option, operands, typed } = readLine(program, words)
  const current = words.at(-1) ?? ''
  if (option) return await listOptionValues(option, { operands, typed })
  const [prefix, name] = /^(--[\w-]+)=/.exec(current) ?? []
  if (prefix !== undefined) {
    const attached = optionsOf(command).find(({ long }) => long === name)
    const values = attached ? await listOptionValues(attached, { operands, typed }) : []
    return values.map(({ value, description }) => ({ value: prefix + value, description }))
  }
  if (current.startsWith('-'))
    return optionsOf(command).map(({ long, short, description }) => ({ value: long ?? short ?? '', description }))
  if (command.commands.length > 0 && operands.length === 0) return listSubcommands(command)
  const argument = command.registeredArguments[operands.length]
  return argument ? await listArgumentValues(argument, { command, operands, typed }) : []
}

interface Line {
  /** The innermost command. */
  command: Command
  /** The option whose value is typed. */
  option: Option | undefined
  /** The arguments before the current word. */
  operands: string[]
  typed: TypedOptions
}

/** All words but the last are complete. */
function readLine(program: Command, words: readonly string[]): Line {
  const line: Line = { command: program, option: undefined, operands: [], typed: {} }
  for (const word of words.slice(0, -1)) {
    if (line.option) {
      line.typed[line.option.attributeName()] = word
      line.option = undefined
    } else if (word.startsWith('-')) {
      const [name, value] = word.split('=')
      const option = optionsOf(line.command).find(({ long, short }) => long === name || short === name)
      if (option && value !== undefined) line.typed[option.attributeName()] = value
      else if (option?.required || option?.optional) line.option = option
    } else {
      const inner = line.operands.length === 0 && line.command.commands.find((one) => one.name() === word)
      if (inner) line.command = inner
      else line.operands.push(word)
    }
  }
  // The value of an optional one may be missing.
  const last = words.at(-1) ?? ''
  if (line.option?.optional && last.startsWith('-')) line.option = undefined
  return line
}

/** `svc-gateway` alone is `svc-gateway start`. */
function optionsOf(command: Command): readonly Option[] {
  const own = command.createHelp().visibleOptions(command)
  const start = command.parent ? undefined : command.commands.find((one) => one.name() === 'start')
  return start ? [...own, ...optionsOf(start)] : own
}

const listSubcommands = (command: Command): Candidate[] =>
  command
    .createHelp()
    .visibleCommands(command)
    .map((one) => ({ value: one.name(), description: one.description() }))

const listOptionValues = async (
  option: Option,
  { operands, typed }: Pick<Line, 'operands' | 'typed'>,
): Promise<readonly Candidate[]> =>
  option.argChoices?.map((value) => ({ value })) ?? (await listValues(option.attributeName(), { operands, typed }))

const listArgumentValues = async (
  argument: Argument,
  { command, operands, typed }: Pick<Line, 'command' | 'operands' | 'typed'>,
): Promise<readonly Candidate[]> =>
  argument.argChoices?.map((value) => ({ value })) ??
  (await listValues(`${nameOf(command)} <${argument.name()}>`, { operands, typed }))

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${nameOf(command.parent)} ${command.name()}` : command.name()
