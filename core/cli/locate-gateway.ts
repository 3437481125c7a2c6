// Finds the running gateway: its address and its credential.
import { ConfigError } from '../config/config-error.ts'
import { resolveCredential } from '../config/credentials.ts'
import { commandLine, firstConfigFile, locateConfig } from '../config/file/locate.ts'
import { readConfigFile } from '../config/file/read.ts'
import { type GatewayAccess, readGatewayAccess } from '../config/gateway-section.ts'
import { CommandError, exitCodes } from '../plugin/errors.ts'
import { type Listening, readListening } from './listening.ts'
import { parseAddress } from './parser.ts'

export interface ControlOptions {
  config?: string | undefined
  url?: string | undefined
  /** The credential. */
  token?: string | undefined
}

export interface GatewayAccessPoint {
  address: string
  credential: string
  /** Where the credential comes from, for messages. */
  source: string
}

/** A header consists of bytes, so a password with other characters is sent as UTF-8. */
export function callGateway(
  { address, credential }: GatewayAccessPoint,
  path: string,
  { timeoutMs: limitMs, ...request }: RequestInit & { timeoutMs: number },
): Promise<Response> {
  const authorization = Buffer.from(`Bearer ${credential}`, 'utf8').toString('latin1')
  const headers = { authorization, 'content-type': 'application/json' }
  return fetch(address + path, { ...request, headers, redirect: 'error', signal: AbortSignal.timeout(limitMs) })
}

/**
 * The address is that of `--url`, of `--config`, of `$SVC_GATEWAY_URL`, or of the configuration that `start` uses. A
 * credential from the environment takes precedence where the address is not from a configuration: the credential of a
 * gateway on this machine must not be sent to another one.
 */
export function locateGateway(options: ControlOptions): GatewayAccessPoint {
  const { config, token } = options
  const givenUrl = readUrl(options)
  const fromEnvironment =
    givenUrl !== undefined && config === undefined ? resolveCredential({}, process.env).value : undefined
  const isComplete = givenUrl !== undefined && (token ?? fromEnvironment) !== undefined
  const file = isComplete ? undefined : locateConfig({ option: config })
  if (file === undefined && givenUrl === undefined) throw createMissingConfigError()
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

/** The address of `--url`, or that of `$SVC_GATEWAY_URL` unless there is `--config`. */
export function readUrl({ config, url }: ControlOptions): string | undefined {
  const variable = process.env['SVC_GATEWAY_URL']?.trim()
  if (url !== undefined || config !== undefined || !variable) return url
  try {
    return parseAddress(variable)
  } catch {
    throw new CommandError('SVC_GATEWAY_URL must be an address such as http://127.0.0.1:18789.')
  }
}

export function createMissingConfigError(): ConfigError {
  const problem = `does not exist; run "${commandLine('setup')}" to create it, or use --url`
  return new ConfigError(firstConfigFile(), [{ path: '', problem }])
}

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

export function createUnreachableError(address: string, error: NodeJS.ErrnoException): CommandError {
  const { unreachable } = exitCodes
  if (error.name === 'TimeoutError')
    return new CommandError(`The gateway at ${address} did not answer in time.`, unreachable)
  const { code = ((error.cause ?? {}) as NodeJS.ErrnoException).code } = error
  return new CommandError(
    `No gateway answers at ${address}${code ? ` (${code})` : ''}; start it, or give its address with --url.`,
    unreachable,
  )
}
