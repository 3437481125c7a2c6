// What `setup` prints when the file is written.
import { describeProblem } from '../../config/config-error.ts'
import { commandLine } from '../../config/file/locate.ts'
import { quoteWord } from '../../kit/command-input.ts'
import type { Config } from '../../config/schema/schema.ts'
import { urlOf } from '../locate-gateway.ts'
import { printJson } from '../terminal.ts'
import { type Attempts, describeChannel, describeModel } from './attempts.ts'
import type { SetupContext } from './context.ts'
import type { Draft } from './draft.ts'
import { builtinModel } from './model-sources.ts'

export interface Outcome {
  draft: Draft
  attempts: Attempts
  /** The attempts were shown when they were made. */
  isShown?: boolean
  /** The copy of the file that was replaced. */
  kept?: string | undefined
}

interface Report {
  context: SetupContext
  outcome: Outcome
  next: NextSteps
}

/** Prints one JSON object, or lines for people. */
export function printReport(
  outcome: Outcome,
  context: SetupContext,
  { json = false }: { json?: boolean | undefined },
): void {
  const report = { outcome, context, next: listNextSteps(outcome.draft.config, context) }
  if (json) printJson(toJson(report))
  else printLines(report)
}

function toJson({ outcome: { draft, attempts, kept }, context, next: { curl: _curl, ...next } }: Report): object {
  const { model, channels } = attempts
  const { config, warnings } = draft
  const { model: _model, ...test } = model ?? {}
  return {
    file: context.file,
    ...(kept !== undefined && { kept }),
    model: config.agents.defaults.model,
    test: model === undefined ? null : test,
    channels,
    presets: config.hooks.presets,
    variables: variablesOf(draft.text),
    warnings: warnings.map(describeProblem),
    next,
  }
}

function printLines({ outcome: { draft, attempts, kept, isShown = false }, context, next }: Report): void {
  for (const warning of draft.warnings) process.stderr.write(`warning: ${describeProblem(warning)}\n`)
  const lines = [
    ...(kept === undefined ? [] : [`Kept the old file as ${kept}.`]),
    `Wrote ${context.file}. It contains the tokens, and only you can read it.`,
    ...(isShown ? [] : describeAttempts(attempts)),
    ...describeBuiltin(draft, context),
    ...describeVariables(draft),
    ...describeNextSteps(next),
  ]
  process.stdout.write(`${lines.join('\n')}\n`)
}

const describeAttempts = ({ model, channels }: Attempts): string[] => [
  ...(model ? [describeModel(model)] : []),
  ...channels.map(describeChannel),
]

function describeVariables({ text }: Draft): string[] {
  const variables = variablesOf(text)
  return variables.length === 0 ? [] : [`The gateway reads these variables at its start: ${variables.join(', ')}.`]
}

/** Tokens are only printed to a terminal. Anything else, such as a log, would store them. */
function describeNextSteps({ start, check, send, curl, login }: NextSteps): string[] {
  const withToken = process.stdout.isTTY ? curl : undefined
  return [
    `Check it:\n  ${check}`,
    `Start the gateway:\n  ${start}`,
    ...login.map((command) => `While it runs, link the account:\n  ${command}`),
    ...(send === undefined ? [] : [`While it runs, send a message and wait for the reply:\n  ${send}`]),
    ...(withToken === undefined ? [] : [`The same with curl:\n  ${withToken}`]),
  ]
}

function describeBuiltin({ config }: Draft, { localServers }: SetupContext): string[] {
  if (config.agents.defaults.model !== builtinModel) return []
  if (localServers.length === 0)
    return [
      'The built-in rules model replies. To use a language model, add a section "providers"; see docs/configure.md.',
    ]
  const found = localServers.map(
    ({ title, baseUrl, models }) =>
      `  ${title} at ${baseUrl}${models.length > 0 ? `, with ${models.slice(0, 5).join(', ')}` : ''}`,
  )
  return [
    'The built-in rules model replies. These model servers run on this machine; the file has their sections as ' +
      'comments:',
    ...found,
  ]
}

interface NextSteps {
  start: string
  check: string
  /** Sends the first message. Absent if webhooks are off. */
  send?: string
  /** The same with curl, and with the token. Absent also if the port is not fixed. */
  curl?: string
  /** Commands that link accounts of channels. */
  login: string[]
}

function listNextSteps(config: Config, { file, extensions }: SetupContext): NextSteps {
  const option = `--config ${quoteWord(file)}`
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
  return `curl -sS -H 'Prefer: wait=60' ${url} -H ${quoteWord(`Authorization: Bearer ${hooks.token}`)} -d '${body}'`
}

/** The file names variables instead of secrets, and the gateway needs them, too. */
const variablesOf = (text: string): string[] => [
  ...new Set(Array.from(text.matchAll(/(?<!\$)\$\{([A-Za-z_]\w*)/g), ([, name = '']) => name)),
]
