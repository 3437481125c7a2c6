// Reads what the options of a command refer to: files, standard input and JSON.
import { readFileSync } from 'node:fs'
import { CommandError } from '../../plugin/errors.ts'

export const nameOf = (file: string): string => (file === '-' ? 'standard input' : file)

/** `option`, or what the file is, is for messages. `-` is standard input. */
export function readBytes(option: string, file: string): Buffer {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'unknown error'
    throw new CommandError(`${option}: ${nameOf(file)} cannot be read (${code}).`)
  }
}

export const readText = (option: string, file: string): string => readBytes(option, file).toString('utf8')

/** `what` is for messages: the option, and the file if there is one. @throws {CommandError} */
export function parseJson(what: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new CommandError(`${what} is not valid JSON.`)
  }
}
