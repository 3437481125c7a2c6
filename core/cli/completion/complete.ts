// Lists what the last word of an unfinished command line may become: commands, options and values.
import type { CommandArgument, CommandOption } from '../../plugin/command.ts'
import { kebabCase, type ListedCommand, optionsOf } from '../parser.ts'
import { type Candidate, listValues } from './values.ts'

/** @returns the value of each candidate, and after a tab its description */
export async function listCandidates(commands: readonly ListedCommand[], words: readonly string[]): Promise<string[]> {
  const typed = words.at(-1) ?? ''
  const found = await findCandidates(readLine(commands, words), typed)
  const lines = found
    .filter(({ value }) => value === ':files' || (value.startsWith(typed) && isPlain(value)))
    .map(({ value, description }) => [value, oneLine(description)].filter(Boolean).join('\t'))
  return [...new Set(lines)]
}

/** Ids may contain text from outside, which must not do anything in a shell. */
const isPlain = (value: string): boolean => /^[\p{L}\p{N}_.:@/#+=,%-]+$/u.test(value)

const oneLine = (text = ''): string => text.replaceAll(/[\p{Cc}\p{Cf}\s]+/gu, ' ').trim()

interface Line {
  /** The commands that the words may still mean. */
  commands: readonly ListedCommand[]
  /** How many words of their names are known. */
  depth: number
  options: Readonly<Record<string, CommandOption>>
  /** The option whose value is typed. */
  open: string | undefined
  /** The arguments before the current word. */
  operands: string[]
  /** The values of options so far. */
  given: Record<string, string>
}

const general: Readonly<Record<string, CommandOption>> = { help: { description: 'display help for command' } }
const version: Readonly<Record<string, CommandOption>> = { version: { description: 'output the version number' } }

/** All words but the last are complete. `svc-gateway` alone is `svc-gateway start`. */
function readLine(all: readonly ListedCommand[], words: readonly string[]): Line {
  const commands = all.filter(({ isHidden }) => !isHidden)
  const start = commands.find(({ isDefault }) => isDefault) as ListedCommand
  const options = { ...version, ...optionsOf(start), ...general }
  const line: Line = { commands, depth: 0, options, open: undefined, operands: [], given: {} }
  for (const word of words.slice(0, -1)) readWord(line, word)
  // The value of an optional one may be missing.
  if (line.options[line.open ?? '']?.value?.startsWith('[') && words.at(-1)?.startsWith('-')) line.open = undefined
  return line
}

function readWord(line: Line, word: string): void {
  if (line.open !== undefined) {
    line.given[line.open] = word
    line.open = undefined
  } else if (word.startsWith('-')) {
    const [name, value] = word.split('=')
    const [key, option] = Object.entries(line.options).find(([one]) => flagOf(one) === name) ?? []
    if (key !== undefined && value !== undefined) line.given[key] = value
    else if (option?.value !== undefined) line.open = key
  } else if (isNameOpen(line)) {
    line.commands = line.commands.filter(({ name }) => name.split(' ')[line.depth] === word)
    line.depth += 1
    const [command] = line.commands
    line.options = command && !isNameOpen(line) ? { ...optionsOf(command), ...general } : general
  } else line.operands.push(word)
}

const flagOf = (key: string): string => `--${kebabCase(key)}`

const isNameOpen = ({ commands, depth }: Line): boolean => commands.some(({ name }) => name.split(' ').length > depth)

async function findCandidates(line: Line, current: string): Promise<readonly Candidate[]> {
  const { options, open, operands, commands } = line
  if (open !== undefined) return await valuesOf(options[open], line)
  const [prefix, name] = /^(--[\w-]+)=/.exec(current) ?? []
  if (prefix !== undefined) {
    const [, attached] = Object.entries(options).find(([key]) => flagOf(key) === name) ?? []
    const values = await valuesOf(attached, line)
    return values.map(({ value, description }) => ({ value: prefix + value, description }))
  }
  if (current.startsWith('-'))
    return Object.entries(options).map(([key, { description }]) => ({ value: flagOf(key), description }))
  if (isNameOpen(line)) return listNames(line)
  return await valuesOf(Object.values(commands[0]?.arguments ?? {})[operands.length], line)
}

/** The next word of the names. A group has the description of its first command with one. */
function listNames({ commands, depth }: Line): Candidate[] {
  const next = Map.groupBy(commands, ({ name }) => name.split(' ')[depth] ?? '')
  const names = Array.from(next, ([value, [first, ...others]]) => {
    const isGroup = first?.name.split(' ').length !== depth + 1
    const group = [first, ...others].find((one) => one?.group !== undefined)?.group
    return { value, description: isGroup ? group : first?.description }
  })
  return [...names, { value: 'help', description: 'display help for command' }]
}

const valuesOf = async (one: CommandOption | CommandArgument | undefined, line: Line): Promise<readonly Candidate[]> =>
  one?.choices?.map((value) => ({ value })) ??
  (one?.completes === undefined ? [] : await listValues(one.completes, line))
