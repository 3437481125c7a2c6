// The version of WhatsApp Web that a linked device names. WhatsApp refuses old ones (405), some weeks after their release.
import type { WAVersion } from 'baileys'
import { readBytes } from 'svc-gateway/kit'
import type { AccountContext } from 'svc-gateway/plugin'
import type { Config } from './config.ts'
import type { Library } from './library.ts'

interface VersionOptions {
  library: Library
  config: Config
  context: Pick<AccountContext, 'state' | 'signal' | 'log'>
}

const recordKey = 'client-version'

/** The configured version, or the newer one of what the library brings and what was looked up last. */
export async function resolveVersion({ library, config, context }: VersionOptions): Promise<WAVersion> {
  if (config.version !== undefined) return parse(config.version)
  const builtin = library.DEFAULT_CONNECTION_CONFIG.version
  const stored = await context.state.get(recordKey)
  return typeof stored === 'string' && isNewer(parse(stored), builtin) ? parse(stored) : builtin
}

/**
 * Looks up the current version after WhatsApp has refused one: only then, and only at WhatsApp itself. Throws with what
 * to do if there is no newer one.
 */
export async function renewVersion(refused: WAVersion, options: VersionOptions): Promise<WAVersion> {
  const { config, context } = options
  const problem = `WhatsApp refuses the client version ${format(refused)} (405)`
  if (config.version !== undefined)
    throw new Error(`${problem}. Remove channels.whatsapp.version, so that the current one is looked up, or update it.`)
  const address = addressOf(config)
  const revision = await readRevision(address, context.signal).catch((error: unknown) => {
    context.signal.throwIfAborted()
    context.log.debug({ reason: (error as Error).name }, 'the current client version could not be read')
  })
  if (revision === undefined)
    throw new Error(
      `${problem}, and the current one could not be read from ${address}. Set channels.whatsapp.version to the one ` +
        'that WhatsApp Web has, such as "2.3000.1043857760", or install a newer baileys.',
    )
  const current: WAVersion = [refused[0], refused[1], revision]
  if (!isNewer(current, refused)) throw new Error(`${problem}, which is the current one. Install a newer baileys.`)
  await context.state.set(recordKey, format(current))
  context.log.info({ version: format(current) }, 'WhatsApp refused an old client version; the current one is used')
  return current
}

/** The script that WhatsApp Web loads, on the host of the WebSocket. The library reads the version there, too. */
function addressOf({ webSocketUrl = 'wss://web.whatsapp.com/ws/chat' }: Config): string {
  const { host, protocol } = new URL(webSocketUrl)
  return `${protocol === 'ws:' ? 'http' : 'https'}://${host}/sw.js`
}

const timeoutMs = 10_000
const maxBytes = 4 * 1024 * 1024

/** WhatsApp gives the script only to what looks like a browser. */
const headers = {
  'sec-fetch-site': 'none',
  'user-agent': 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36',
}

async function readRevision(address: string, stop: AbortSignal): Promise<number | undefined> {
  const signal = AbortSignal.any([stop, AbortSignal.timeout(timeoutMs)])
  const response = await fetch(address, { headers, redirect: 'error', signal })
  if (!response.ok) return undefined
  const script = (await readBytes(response, maxBytes, signal)).toString()
  const revision = /\\?"client_revision\\?":\s*(\d{5,10})(?!\d)/.exec(script)?.[1]
  return revision === undefined ? undefined : Number(revision)
}

function parse(version: string): WAVersion {
  const [primary = 0, secondary = 0, tertiary = 0] = version.split('.').map(Number)
  return [primary, secondary, tertiary]
}

const format = (version: WAVersion): string => version.join('.')

const isNewer = (one: WAVersion, other: WAVersion): boolean => {
  const index = one.findIndex((part, at) => part !== other[at])
  return index !== -1 && (one[index] ?? 0) > (other[index] ?? 0)
}
