// Calls the control API of the running gateway, at the configured address and with the configured credential.
import { homedir } from 'node:os'
import { ConfigError } from '../config/config-error.ts'
import { resolveCredential } from '../config/credentials.ts'
import { readConfigFile } from '../config/file/read.ts'
import { type GatewayAccess, readGatewayAccess } from '../config/gateway-section.ts'
import { commandLine, firstConfigFile, locateConfig } from '../config/file/locate.ts'
import { CommandError, unreachable } from './command-error.ts'
import { type Listening, readListening } from './listening.ts'

export interface Control {
  /** Rejects with a CommandError. */
  get(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
}

export interface ControlOptions {
  config?: string
  url?: string
}

/** Longest wait for a response. */
const timeoutMs = 60_000

export function openControl(options: ControlOptions): Control {
  const { address, credential, source } = locateGateway(options)
  // A header consists of bytes, so a password with other characters is sent as UTF-8.
  const authorization = Buffer.from(`Bearer ${credential}`, 'utf8').toString('latin1')

  async function call(path: string, request: RequestInit): Promise<unknown> {
    const headers = { authorization, 'content-type': 'application/json' }
    const response = await fetch(address + path, {
      ...request,
      headers,
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
    }).catch((error: Error) => {
      throw createUnreachableError(address, error)
    })
    const answer = await response.json().catch(() => undefined)
    if (response.ok && typeof answer === 'object' && answer !== null) return answer
    throw createResponseError(response.status, answer, { address, source })
  }

  return {
    get: (path) => call(path, {}),
    post: (path, body) => call(path, { method: 'POST', body: JSON.stringify(body) }),
  }
}

interface GatewayAddress {
  address: string
  /** Where the credential comes from, for messages. */
  source: string
}

function locateGateway({ config, url }: ControlOptions): GatewayAddress & { credential: string } {
  const surroundings = { option: config, env: process.env, cwd: process.cwd(), home: homedir() }
  const file = locateConfig(surroundings)
  if (file === undefined && url === undefined) {
    throw new ConfigError(firstConfigFile(surroundings), [
      { path: '', problem: `does not exist; run "${commandLine('setup')}" to create it` },
    ])
  }
  const access = file === undefined ? undefined : readGatewayAccess(readConfigFile(file))
  const source = file ?? 'the environment'
  const { value, mode } = resolveCredential(access?.auth ?? {}, process.env)
  if (value === undefined)
    throw new CommandError(
      `There is no credential in ${source}; set gateway.auth.${mode} or SVC_GATEWAY_${mode.toUpperCase()}.`,
    )
  const address = url ?? addressOf({ ...(access as GatewayAccess), ...readListening(source) }, source)
  return { address, credential: value, source }
}

/** A gateway that listens on all addresses is called on the loopback address. */
function addressOf({ bind, port }: Listening, file: string): string {
  if (port === 0)
    throw new CommandError(
      `gateway.port in ${file} is 0, and no running gateway has recorded its port; start it, or give its ` +
        `address with --url.`,
    )
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[bind] ?? bind
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

function createUnreachableError(address: string, { name, cause }: Error): CommandError {
  if (name === 'TimeoutError')
    return new CommandError(`The gateway at ${address} did not answer within ${timeoutMs / 1000} seconds.`, unreachable)
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return new CommandError(
    `No gateway answers at ${address}${code ? ` (${code})` : ''}; start it, or give its address with --url.`,
    unreachable,
  )
}

function createResponseError(status: number, answer: unknown, { address, source }: GatewayAddress): CommandError {
  const { error } = (answer ?? {}) as { error?: { type: string; message: string } }
  if (typeof error?.message !== 'string')
    return new CommandError(`The server at ${address} is not svc-gateway; give the gateway's address with --url.`)
  if (status !== 401) return new CommandError(error.message, 1, error)
  return new CommandError(
    `The gateway at ${address} rejects the credential from ${source}; give its configuration file with --config.`,
  )
}
