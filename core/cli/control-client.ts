// Calls the control API of the running gateway, at the configured address and with the configured credential.
import { homedir } from 'node:os'
import { ConfigError } from '../config/config-error.ts'
import { resolveCredential } from '../config/credentials.ts'
import { readConfigFile } from '../config/file/read.ts'
import { type GatewayAccess, readGatewayAccess } from '../config/gateway-section.ts'
import { commandLine, firstConfigFile, locateConfig } from '../config/file/locate.ts'
import { CommandError, exitCodes } from '../plugin/errors.ts'
import { type Listening, readListening } from './listening.ts'

export interface Control {
  /** Rejects with a CommandError. */
  get(path: string): Promise<unknown>
  post(path: string, body: object): Promise<unknown>
}

export interface ControlOptions {
  config?: string
  url?: string
  /** The credential. */
  token?: string
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

export interface GatewayAccessPoint extends GatewayAddress {
  credential: string
}

/**
 * The address is that of `--url`, of `--config`, of `$SVC_GATEWAY_URL`, or of the configuration that `start` uses. A
 * credential from the environment takes precedence where the address is not from a configuration: the credential of a
 * gateway on this machine must not be sent to another one.
 */
export function locateGateway({ config, url, token }: ControlOptions): GatewayAccessPoint {
  const givenUrl = url ?? (config === undefined ? readUrlVariable() : undefined)
  const surroundings = { option: config, env: process.env, cwd: process.cwd(), home: homedir() }
  const fromEnvironment = givenUrl !== undefined && config === undefined ? environmentCredential() : undefined
  const isComplete = givenUrl !== undefined && (token ?? fromEnvironment) !== undefined
  const file = isComplete ? undefined : locateConfig(surroundings)
  if (file === undefined && givenUrl === undefined) throw createMissingConfigError(firstConfigFile(surroundings))
  const access = file === undefined ? undefined : readGatewayAccess(readConfigFile(file))
  const { value, mode } = resolveCredential(access?.auth ?? {}, process.env)
  const credential = token ?? fromEnvironment ?? value
  const source = token !== undefined ? '--token' : fromEnvironment === undefined ? file : undefined
  if (credential === undefined)
    throw new CommandError(
      `There is no credential in ${source ?? 'the environment'}; give it with --token, or set ` +
        `${file === undefined ? '' : `gateway.auth.${mode} or `}SVC_GATEWAY_${mode.toUpperCase()}.`,
    )
  const address = givenUrl ?? addressOf(access as GatewayAccess, file as string)
  return { address, credential, source: source ?? 'the environment' }
}

const environmentCredential = (): string | undefined => resolveCredential({}, process.env).value

/** The value of `$SVC_GATEWAY_URL`. */
export function readUrlVariable(): string | undefined {
  const url = process.env['SVC_GATEWAY_URL']?.trim()
  if (!url) return undefined
  if (/^https?:\/\/[^/]/.test(url) && URL.canParse(url)) return url.replace(/\/+$/, '')
  throw new CommandError('SVC_GATEWAY_URL must be an address such as http://127.0.0.1:18789.')
}

export const createMissingConfigError = (file: string): ConfigError =>
  new ConfigError(file, [
    { path: '', problem: `does not exist; run "${commandLine('setup')}" to create it, or use --url` },
  ])

export function addressOf(configured: Listening, file: string): string {
  const { bind, port } = { ...configured, ...readListening(file) }
  if (port === 0)
    throw new CommandError(
      `gateway.port in ${file} is 0, and no running gateway has recorded its port; start it, or give its ` +
        `address with --url.`,
    )
  return urlOf({ bind, port })
}

/** A gateway that listens on all addresses is called on the loopback address. */
export function urlOf({ bind, port }: Listening): string {
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[bind] ?? bind
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}`
}

export function createUnreachableError(address: string, { name, cause }: Error): CommandError {
  if (name === 'TimeoutError')
    return new CommandError(`The gateway at ${address} did not answer within ${timeoutMs / 1000} seconds.`, exitCodes.unreachable)
  const { code } = (cause ?? {}) as NodeJS.ErrnoException
  return new CommandError(
    `No gateway answers at ${address}${code ? ` (${code})` : ''}; start it, or give its address with --url.`,
    exitCodes.unreachable,
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
