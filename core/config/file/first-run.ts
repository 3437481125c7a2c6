// The first configuration: everything that a fresh gateway needs, with a comment for each section.
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
  /** Replace a file that exists. */
  force?: boolean | undefined
  /** Model servers to offer in comments. */
  localServers?: readonly LocalServer[]
}

/**
 * Writes a first configuration with fresh tokens.
 * @throws {ConfigError} when the file exists already and `force` is not set.
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
      throw new ConfigError(file, [
        { path: '', problem: 'exists already and is not replaced; use --force to replace it' },
      ])
    throw new ConfigError(file, [{ path: '', problem: `can't be written (${code})` }])
  }
  return tokens
}

/** 256 random bits, in letters, digits, "-" and "_". */
export const createToken = (): string => randomBytes(32).toString('base64url')

const firstConfigText = (
  { gatewayToken, hookToken }: FirstConfig,
  localServers: readonly LocalServer[],
) => `// The configuration of svc-gateway, in JSON5. Every key is described in docs/configure.md.
// Check it after a change: ${commandLine('check --config <this file>')}
{
  // Where the gateway listens, and the token that opens it: "Authorization: Bearer <token>".
  gateway: {
    bind: '127.0.0.1', // this machine alone; '0.0.0.0' opens it to the network
    port: 18789,
    auth: { token: '${gatewayToken}' },
  },

  // Webhooks. Senders use this token, never the one above.
  hooks: {
    enabled: true,
    path: '/hooks',
    token: '${hookToken}',
  },

  // What answers. "builtin/rules" follows fixed rules: it needs no key and no network, and it is no language model.
  agents: {
    defaults: {
      model: 'builtin/rules',
    },
  },

  // Where replies go. The console prints them.
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
    `  //   ${name}: { kind: 'openai-compatible', baseUrl: '${url}' },${models.length > 0 ? ` // for example the model '${name}/${models[0]}'` : ''}`,
  ])
  return `
  // Model servers that answered on this machine when this file was written. To use one, uncomment it and name its model
  // above. providers: {
${lines.join('\n')}
  // },
`
}
