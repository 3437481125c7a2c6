// The texts that `start` prints after its address: where the state is and, at the first run, requests to try.
import { dirname } from 'node:path'
import { createAgents } from '../../agents/agents.ts'
import type { FirstConfig } from '../../config/file/first-run.ts'
import type { Config } from '../../config/schema/schema.ts'
import type { Gateway } from '../../gateway.ts'
import { parseStoreUrl } from '../../store/store-url.ts'

interface FirstSteps extends FirstConfig {
  file: string
  address: string
  hooksPath: string
}

/** Tokens are only printed to a terminal. Anything else, such as a service's log, would store them. */
const canShowTokens = (): boolean => process.stdout.isTTY

/** Commands to copy. Without a terminal, they read the tokens from the file. */
export function describeFirstSteps({ file, address, hooksPath, ...tokens }: FirstSteps): string {
  const showTokens = canShowTokens()
  const authorization = (token: string, variable: string): string =>
    showTokens ? `'Authorization: Bearer ${token}'` : `"Authorization: Bearer $${variable}"`
  const post = (path: string, body: object): string =>
    `${address}${hooksPath}/${path} -H ${authorization(tokens.hookToken, 'HOOK_TOKEN')} -d '${JSON.stringify(body)}'`
  return [
    '',
    `This is the first run. The configuration and its new tokens are in ${file}.`,
    ...(showTokens ? [] : describeTokenCommands(file)),
    '',
    'Report an event. The agent reacts here, on the console channel:',
    `  curl -sS ${post('wake', { text: 'The backup has failed.' })}`,
    '',
    'Give it work, and wait for the reply:',
    `  curl -sS -H 'Prefer: wait=60' ${post('agent', { message: 'Say hello.', wakeMode: 'next-heartbeat' })}`,
    '',
    'Look up the run later (its id is in the response):',
    `  curl -sS ${address}/runs/RUN_ID -H ${authorization(tokens.gatewayToken, 'GATEWAY_TOKEN')}`,
    '',
    '',
  ].join('\n')
}

/** Shell commands that read the tokens from their two lines in the file. */
function describeTokenCommands(file: string): string[] {
  const quoted = `'${file.replaceAll("'", String.raw`'\''`)}'`
  const read = (line: string): string => `$(sed -n "s/^ *${line.replace('*', String.raw`\(.*\)`)}$/\\1/p" ${quoted})`
  return [
    'The output is not a terminal, so the tokens are not printed. Read them into your shell first:',
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
  const written = `The gateway had no credential. A new ${mode} was written to ${file}`
  return `${written}${canShowTokens() ? `: ${value}` : `, as gateway.auth.${mode}.`}\n`
}

/** In a terminal, with a link that signs a browser in. */
export function describePage(address: string, { issuePageLink }: Pick<Gateway, 'issuePageLink'>): string {
  const link = issuePageLink()
  if (link === undefined) return ''
  if (!canShowTokens()) return `The control page is at ${address}/\n`
  return `The control page, with a link that signs you in once within five minutes:\n  ${address}${link}\n`
}

/** If the file configures no agent, says which one replies and where the state is. */
export function describeState({ config, dir }: { config: Config; dir: string }): string {
  if (Object.keys(config.agents).some((id) => id !== 'defaults')) return ''
  const { id, model, workspace } = createAgents(config, dir).default
  const store = parseStoreUrl(config.storage.url, { dir })
  const place = store.engine === 'sqlite' ? dirname(store.path) : 'the PostgreSQL database of storage.url'
  return (
    `No agent is configured: the agent "${id}" replies, with the model ${model}. Its files are in ` +
    `${workspace}; all other state is in ${place}.\n`
  )
}
