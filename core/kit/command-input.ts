// What commands read: the values of options, files, standard input and JSON; and words of a shell, to print them.
import { readFileSync } from 'node:fs'
import { readJson } from '../json.ts'
import { CommandError, InputError } from '../plugin/errors.ts'
import { parseDuration } from './duration.ts'

/** Reads the value of an option that is a number of things. */
export const parseCount = (text: string): number => parseWhole(text, 1, 999_999)

/** Reads a whole number. Both limits are included. */
export function parseWhole(text: string, min: number, max: number): number {
  const number = Number(text)
  if (!/^\d{1,15}$/.test(text) || number < min || number > max)
    throw new InputError(`It must be a whole number from ${min} to ${max}.`)
  return number
}

/** Reads a time, or how long it is ago. Returns ISO 8601. */
export function parseTime(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() - ms).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InputError('It must be a duration such as 90m, 2h or 3d, or a time such as 2026-11-20T08:00Z.')
  return new Date(at).toISOString()
}

/** How a message names a file that an option names. `-` is standard input. */
export const nameOfFile = (file: string): string => (file === '-' ? 'standard input' : file)

/** Reads the file that an option names. `-` is standard input. */
export function readBytesOf(option: string, file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new CommandError(`${option}: ${nameOfFile(file)} cannot be read (${code}).`)
  }
}

/** Parses JSON. `what` names it in the message of the `CommandError`. */
export function parseJson(what: string, text: string): unknown {
  try {
    return readJson(text)
  } catch {
    throw new CommandError(`${what} is not valid JSON.`)
  }
}

/** Reads a header of a request from `name: value`, in lower case. */
export function parseHeader(line: string): [name: string, value: string] {
  const [, name = '', value = ''] = /^([\w!#$%&'*+.^`|~-]+):\s*(.*)$/.exec(line) ?? []
  if (name === '') throw new CommandError(`--header "${line}" must have the form "name: value".`)
  return [name.toLowerCase(), value]
}

/** Writes a text as one word of a shell command, for commands that are printed to be copied. */
export const quoteWord = (text: string): string =>
  /^[\w./:@%+=,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
