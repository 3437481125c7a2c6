// What `start` prints beside its address: where things are, and, at the first run, requests to try.
import { dirname, resolve } from 'node:path'
import { createAgents } from '../agents/agents.ts'
import type { FirstConfig } from '../config/file/first-run.ts'
import type { Config } from '../config/schema.ts'

interface FirstSteps extends FirstConfig {
  file: string
  address: string
  hooksPath: string
}

/**
 * Tokens are for the eyes of whoever sits at the terminal; anything else that takes the output (a journal, a
 * container's log) keeps it.
 */
const mayShowTokens = (): boolean => process.stdout.isTTY

/** Commands that work as they stand. Without a terminal, they read the tokens from the file. */
export function describeFirstSteps({ file, address, hooksPath, ...tokens }: FirstSteps): string {
  const escapeForTerminal = mayShowTokens()
  const authorization = (token: string, variable: string): string =>
    escapeForTerminal ? `'Authorization: Bearer ${token}'` : `"Authorization: Bearer $${variable}"`
  const post = (path: string, body: object): string =>
    `  curl -sS ${address}${hooksPath}/${path} -H ${authorization(tokens.hookToken, 'HOOK_TOKEN')} -d '${JSON.stringify(body)}'`
  return [
    '',
    `This is the first run: ${file} now holds a configuration with fresh tokens.`,
    ...(escapeForTerminal ? [] : readTokens(file)),
    '',
    'Tell the agent some news:',
    post('wake', { text: 'The first event has arrived.' }),
    '',
    'Give it work; the reply appears here, on the console channel:',
    post('agent', { message: 'Say hello to whoever reads the console.', name: 'First run', channel: 'console' }),
    '',
    'See what became of a run (its id is in the answer):',
    `  curl -sS ${address}/runs/RUN_ID -H ${authorization(tokens.gatewayToken, 'GATEWAY_TOKEN')}`,
    '',
    '',
  ].join('\n')
}

/** Shell commands that read the tokens from the file, which holds them in these two lines. */
function readTokens(file: string): string[] {
  const quoted = `'${file.replaceAll("'", String.raw`'\''`)}'`
  const read = (line: string): string => `$(sed -n "s/^ *${line.replace('*', String.raw`\(.*\)`)}$/\\1/p" ${quoted})`
  return [
    'This is no terminal, so the tokens are not printed. Read them into your shell first:',
    `  HOOK_TOKEN=${read("token: '*',")}`,
    `  GATEWAY_TOKEN=${read("auth: { token: '*' },")}`,
  ]
}

interface NewCredential {
  file: string
  mode: string
  value: string
}

export function describeNewCredential({ file, mode, value }: NewCredential): string {
  const written = `The gateway had no credential; a new ${mode} was written into ${file}`
  return `${written}${mayShowTokens() ? `: ${value}` : `, as gateway.auth.${mode}.`}\n`
}

/** Without a section that names an agent or a place, the file does not say what runs and where it keeps things. */
export function describeState({ config, dir }: { config: Config; dir: string }): string {
  if (Object.keys(config.agents).some((id) => id !== 'defaults')) return ''
  const { id, model, workspace } = createAgents(config, dir).default
  const store = resolve(dir, config.storage.url.replace(/^sqlite:/, ''))
  return `No agent is configured, so the agent "${id}" answers, with the model ${model}. Its files are in ${workspace}, everything else is in ${dirname(store)}.\n`
}
