// Finds the running gateway of a configuration, or the one that --url names, and calls it.
import {
  callGateway,
  type ControlOptions,
  type GatewayAccessPoint,
  locateGateway,
  readUrl,
} from '../../locate-gateway.ts'
import { readListening } from '../../listening.ts'

export type GatewayState =
  /** No gateway runs, or it cannot be called. `reason` is the end of a sentence. */
  | { state: 'none'; reason: string }
  | { state: 'unreachable' | 'refused'; address: string; reason: string }
  | ({ state: 'running' } & RunningGateway)

export interface RunningGateway {
  address: string
  /** Its clock, as far as its answers tell. */
  date: ServerDate | undefined
  /** Returns the JSON of an answer. */
  get(path: string): Promise<unknown>
  getText(path: string): Promise<string>
  /** The status of `GET /readyz`. */
  readyStatus(): Promise<number>
}

/** The time of a server when it answered. */
export interface ServerDate {
  host: string
  /** How far its clock is ahead of this machine's, in milliseconds. */
  aheadMs: number
}

/** How long each answer may take. */
export const limitMs = 3_000

export async function findGateway(
  options: ControlOptions & { offline?: boolean },
  file: string,
): Promise<GatewayState> {
  const isElsewhere = readUrl(options) !== undefined
  if (isElsewhere && options.offline) return { state: 'none', reason: '--offline was given' }
  // The credential must not be sent to a port that may belong to another program.
  if (!isElsewhere && readListening(file) === undefined)
    return { state: 'none', reason: 'no gateway of this configuration is running' }
  const access = locate(options)
  return 'reason' in access ? { state: 'none', reason: access.reason } : await askGateway(access)
}

function locate(options: ControlOptions): GatewayAccessPoint | { reason: string } {
  try {
    return locateGateway(options)
  } catch (error) {
    return { reason: `its address or credential is not known (${(error as Error).message.replace(/\.$/, '')})` }
  }
}

async function askGateway(access: GatewayAccessPoint): Promise<GatewayState> {
  const { address, source } = access
  const call = (path: string): Promise<Response> => callGateway(access, path, { timeoutMs: limitMs })
  const startedAt = Date.now()
  try {
    const response = await call('/api/channels')
    const date = readDate(response, startedAt)
    await response.body?.cancel()
    if (response.status === 401 || response.status === 429)
      return { state: 'refused', address, reason: `rejects the credential from ${source} (${response.status})` }
    if (!response.ok) return { state: 'unreachable', address, reason: `answered ${response.status}` }
    return {
      state: 'running',
      address,
      date,
      get: async (path) => (await call(path)).json(),
      getText: async (path) => (await call(path)).text(),
      readyStatus: async () => (await call('/readyz')).status,
    }
  } catch (error) {
    return { state: 'unreachable', address, reason: `does not answer (${codeOf(error as Error)})` }
  }
}

const codeOf = ({ name, cause }: Error): string =>
  name === 'TimeoutError'
    ? `nothing within ${limitMs / 1000} seconds`
    : ((cause as NodeJS.ErrnoException | undefined)?.code ?? name)

/** The header has whole seconds. The answer was made between the request and now. */
export function readDate({ headers, url }: Response, startedAt: number): ServerDate | undefined {
  const at = Date.parse(headers.get('date') ?? '')
  if (Number.isNaN(at)) return undefined
  return { host: new URL(url).host, aheadMs: at + 500 - (startedAt + Date.now()) / 2 }
}
