// Writes the first configuration, with a comment for each section.
import { randomBytes } from 'node:crypto'
import { ConfigError } from '../config-error.ts'
import type { LocalServer } from '../local-servers.ts'
import { commandLine } from './locate.ts'
import { writePrivateFile } from './write.ts'

export interface FirstConfig {
  gatewayToken: string
  hookToken: string
}

export interface FirstConfigOptions {
  /** Replace an existing file. */
  force?: boolean | undefined
  /** Model servers to offer in comments. */
  localServers?: readonly LocalServer[]
}

/**
 * Writes a first configuration with new tokens.
 * @throws {ConfigError} if the file exists and `force` is not set.
 */
export function writeFirstConfig(
  file: string,
  { force = false, localServers = [] }: FirstConfigOptions = {},
): FirstConfig {
  const tokens = { gatewayToken: createToken(), hookToken: createToken() }
  try {
    writePrivateFile(file, firstConfigText(tokens, localServers), { overwrite: force })
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (code === 'EEXIST' && syscall === 'link')
      throw new ConfigError(file, [{ path: '', problem: 'already exists; use --force to replace it' }])
    throw new ConfigError(file, [{ path: '', problem: `cannot be written (${code})` }])
  }
  return tokens
}

/** 256 random bits in base64url. */
export const createToken = (): string => randomBytes(32).toString('base64url')

const firstConfigText = (
  { gatewayToken, hookToken }: FirstConfig,
  localServers: readonly LocalServer[],
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

  // The model. "builtin/rules" follows fixed rules. It needs no key and no network, and is not a language model.
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
      allowFrom: ['*'],
      defaultTo: 'console',
    },
  },
${providersText(localServers)}}
`

function providersText(servers: readonly LocalServer[]): string {
  if (servers.length === 0) return ''
  const lines = servers.flatMap(({ name, url, models }) => [
    `  //   ${name}: { kind: 'openai-compatible', baseUrl: '${url}' ` +
      `},${models.length > 0 ? ` // for example the model '${name}/${models[0]}'` : ''}`,
  ])
  return `
  // Model servers that were found on this machine when this file was written. To use one, remove the comment marks and
  // set its model above.
  // providers: {
${lines.join('\n')}
  // },
`
}
