// What several commands share: their options, the parsers of values, and the examples at the end of the help.
import { type Command, InvalidArgumentError } from 'commander'
import { parseDuration } from '../../kit/duration.ts'

/** The options of every command that talks to a running gateway. */
export const addControlOptions = (command: Command): Command =>
  command
    .option(
      '--config <file>',
      'configuration file with the address and credential of the gateway (default: as for start)',
    )
    .option('--url <address>', 'address of the gateway (default: $SVC_GATEWAY_URL, or the configuration)', parseAddress)
    .option('--token <credential>', 'credential of the gateway (default: $SVC_GATEWAY_TOKEN, or the configuration)')

/** For commands that print the response of the gateway. */
export const addJson = (command: Command): Command => command.option('--json', 'one JSON object, as in the API')

/** Adds command lines, without the name of the program, to the help of a command. */
export function addExamples(command: Command, ...lines: string[]): Command {
  const title = lines.length === 1 ? 'Example' : 'Examples'
  return command.addHelpText(
    'after',
    ['', `${title}:`, ...lines.map((line) => `  $ svc-gateway ${line}`.trimEnd())].join('\n'),
  )
}

/** Collects the values of a repeatable option. */
export const collect = (value: string, before: string[]): string[] => [...before, value]

export function parseAddress(text: string): string {
  if (!/^https?:\/\/[^/]/.test(text) || !URL.canParse(text))
    throw new InvalidArgumentError('It must be an address such as http://127.0.0.1:18789.')
  return text.replace(/\/+$/, '')
}

export function parseTime(text: string): string {
  const ms = parseDuration(text)
  if (ms !== undefined) return new Date(Date.now() - ms).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (Number.isNaN(at))
    throw new InvalidArgumentError('It must be a duration such as 90m, 2h or 3d, or a time such as 2026-11-20T08:00Z.')
  return new Date(at).toISOString()
}

export function parseCount(text: string): number {
  if (!/^[1-9]\d{0,5}$/.test(text)) throw new InvalidArgumentError('It must be a whole number from 1 to 999999.')
  return Number(text)
}

export function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!/^\d{1,3}$/.test(text) || seconds < 1 || seconds > 300)
    throw new InvalidArgumentError('It must be a whole number from 1 to 300.')
  return seconds
}

export function parsePort(text: string): number {
  const port = Number(text)
  if (!/^\d{1,5}$/.test(text) || port > 65_535)
    throw new InvalidArgumentError('It must be a whole number from 0 to 65535.')
  return port
}
