// The commands that follow a setup, ready to copy.
import { commandLine } from '../../config/file/locate.ts'
import type { Config } from '../../config/schema/schema.ts'
import { urlOf } from '../locate-gateway.ts'
import type { SetupContext } from './context.ts'

export interface NextSteps {
  start: string
  check: string
  /** Sends the first message. Absent if webhooks are off. */
  send?: string
  /** The same with curl, and with the token. Absent also if the port is not fixed. */
  curl?: string
  /** Commands that link accounts of channels. */
  login: string[]
}

export function listNextSteps(config: Config, { file, extensions }: SetupContext): NextSteps {
  const option = `--config ${quote(file)}`
  const body = JSON.stringify({ message: 'Say hello.', wakeMode: 'next-heartbeat' })
  const curl = curlCommand(config, body)
  const hasLogin = ([name, { enabled }]: [string, { enabled: boolean }]): boolean =>
    enabled && extensions.channels.get(name)?.login !== undefined
  return {
    start: commandLine(`start ${option}`),
    check: commandLine(`check ${option}`),
    ...(config.hooks.enabled && { send: commandLine(`trigger agent ${option} --data '${body}' --wait 60`) }),
    ...(curl !== undefined && { curl }),
    login: Object.entries(config.channels)
      .filter(hasLogin)
      .map(([name]) => commandLine(`channels login ${name} ${option}`)),
  }
}

function curlCommand({ gateway, hooks }: Config, body: string): string | undefined {
  if (!hooks.enabled || gateway.port === 0) return undefined
  const url = `${urlOf(gateway)}${hooks.path}/agent`
  return `curl -sS -H 'Prefer: wait=60' ${url} -H ${quote(`Authorization: Bearer ${hooks.token}`)} -d '${body}'`
}

/** Quotes for a shell, if needed. */
const quote = (text: string): string =>
  /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`

/** The file names variables instead of secrets, and the gateway needs them, too. */
export const variablesOf = (text: string): string[] => [
  ...new Set(Array.from(text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)/g), ([, name = '']) => name)),
]
