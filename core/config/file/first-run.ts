// Writes the first configuration, with a comment for each section.
import { randomBytes } from 'node:crypto'
import { ConfigError } from '../config-error.ts'
import type { LocalServer } from '../local-servers.ts'
import { mergeIntoText } from './edit-text.ts'
import { commandLine } from './locate.ts'
import { writePrivateFile } from './write.ts'

export interface FirstConfig {
  gatewayToken: string
  hookToken: string
}

interface FirstText {
  /** Model servers to offer in comments. */
  localServers?: readonly LocalServer[]
  /** Merged into the text, as in `mergeIntoText`. */
  changes?: Readonly<Record<string, unknown>>
}

export interface FirstConfigOptions extends FirstText {
  /** Replace an existing file. */
  force?: boolean | undefined
}

/**
 * Writes a first configuration with new tokens.
 * @throws {ConfigError} if the file exists and `force` is not set.
 */
export function writeFirstConfig(file: string, { force = false, ...content }: FirstConfigOptions = {}): FirstConfig {
  const tokens = { gatewayToken: createToken(), hookToken: createToken() }
  writeFirstText(file, createFirstText(tokens, content), { force })
  return tokens
}

export function createFirstText(tokens: FirstConfig, { localServers = [], changes = {} }: FirstText): string {
  const text = firstConfigText(tokens, changes['providers'] ? emptyProviders : providersText(localServers))
  return mergeIntoText(text, changes)
}

/** @throws {ConfigError} if the file exists and `force` is not set, or if it cannot be written. */
export function writeFirstText(file: string, text: string, { force }: { force: boolean }): void {
  try {
    writePrivateFile(file, text, { overwrite: force })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && syscall === 'link') throw alreadyExists(file)
    throw new ConfigError(file, [{ path: '', problem: `cannot be written (${code})` }])
  }
}

export const alreadyExists = (file: string): ConfigError =>
  new ConfigError(file, [{ path: '', problem: 'already exists; use --force to replace it' }])

/** 256 random bits in base64url. */
export const createToken = (): string => randomBytes(32).toString('base64url')

const firstConfigText = (
  { gatewayToken, hookToken }: FirstConfig,
  providers: string,
) => `// The configuration of svc-gateway, in JSON5. docs/configure.md describes all keys.
// Check it after a change with: ${commandLine('check --config <this file>')}
{
  // The address of the gateway, and its token: "Authorization: Bearer <token>".
  gateway: {
    bind: '127.0.0.1', // this machine only; '0.0.0.0' opens it to the network
    port: 18789,
    auth: { token: '${gatewayToken}' },
  },

  // Webhooks. Senders use this token, not the one above.
  hooks: {
    enabled: true,
    path: '/hooks',
    token: '${hookToken}',
  },

  // The model: <provider>/<model>. "builtin/rules" follows fixed rules; it needs no key and no network, and is not a
  // language model.
  agents: {
    defaults: {
      model: 'builtin/rules',
      // What an agent has to say about an event goes to the channel of the last message that a person wrote to it.
      heartbeat: { target: 'last' },
    },
  },

  // Until a person has written to an agent, its replies go to the console.
  session: { fallbackChannel: 'console' },

  // The channels for replies. The console prints them.
  channels: {
    console: {
      allowFrom: ['console'],
      defaultTo: 'console',
    },
  },
${providers}}
`

const emptyProviders = `
  // The sources of models by their names. A name is the left side of <provider>/<model>.
  providers: {},
`

function providersText(servers: readonly LocalServer[]): string {
  if (servers.length === 0) return ''
  const lines = servers.flatMap(({ kind, name, baseUrl, models }) => [
    `  //   ${name}: { kind: '${kind}', baseUrl: '${baseUrl}' }` +
      `,${models.length > 0 ? ` // for example the model '${name}/${models[0]}'` : ''}`,
  ])
  return `
  // Model servers that were found on this machine when this file was written. To use one, remove the comment marks and
  // set its model above.
  // providers: {
${lines.join('\n')}
  // },
`
}
