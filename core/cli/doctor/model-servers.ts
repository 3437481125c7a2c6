// Asks the configured model servers for their models: an answer shows the address, the credential and the clock.
import { connectError, connectStatusError } from '../../kit/connect-error.ts'
import { isAuthError } from '../../plugin/errors.ts'
import { firstLineOf } from '../../errors.ts'
import type { Config } from '../../config/schema/schema.ts'
import { settingsOfProvider } from '../../config/schema/extensions.ts'
import type { ModelListRequest, Provider } from '../../plugin/plugin.ts'
import { limitMs, readDate, type ServerDate } from './gateway/state.ts'

export interface ModelAnswer {
  /** The name of the section of `providers`. */
  provider: string
  state: 'listed' | 'unlisted' | 'key_missing' | 'key_refused' | 'unreachable'
  /** Why there is no list, as a sentence. */
  reason?: string
  /** The ids of the models. */
  ids?: readonly string[]
  date?: ServerDate | undefined
}

/** Servers of providers that cannot list their models are left out. */
export async function askModelServers(
  providers: ReadonlyMap<string, Provider>,
  { providers: configured }: Pick<Config, 'providers'>,
): Promise<ModelAnswer[]> {
  const sections = Object.entries(configured)
  const answers = sections.map(async ([name, section]): Promise<ModelAnswer[]> => {
    const provider = providers.get(section.kind)
    return provider?.listModels ? [await askServer(name, provider, settingsOfProvider(section))] : []
  })
  return (await Promise.all(answers)).flat()
}

async function askServer(name: string, provider: Provider, settings: unknown): Promise<ModelAnswer> {
  try {
    return {
      provider: name,
      ...(await sendRequest(name, provider.listModels?.(settings, { env: process.env }) as ModelListRequest)),
    }
  } catch (error) {
    return { provider: name, state: isAuthError(error) ? 'key_missing' : 'unlisted', reason: firstLineOf(error) }
  }
}

async function sendRequest(name: string, request: ModelListRequest): Promise<Omit<ModelAnswer, 'provider'>> {
  const key = `providers.${name}`
  const service = { name: key, url: request.url, setting: `${key}.baseUrl`, start: '' }
  const startedAt = Date.now()
  const options = { headers: request.headers ?? {}, redirect: 'error', signal: AbortSignal.timeout(limitMs) } as const
  const response = await fetch(request.url, options).catch((error: unknown) => connectError(error, service))
  if (response instanceof Error) return { state: 'unreachable', reason: response.message }
  const date = readDate(response, startedAt)
  const { status } = response
  const body: unknown = await response.json().catch(() => undefined)
  if (response.ok) return { ...readModels(body, { name: key, ...request }), date }
  const { refusesKey = isRefusal } = request
  if (refusesKey(status, body))
    return { state: 'key_refused', reason: `${key} refuses the credential (${status})`, date }
  const isUnlisted = status < 500 && status !== 429
  return {
    state: isUnlisted ? 'unlisted' : 'unreachable',
    reason: connectStatusError({ status }, service).message,
    date,
  }
}

/** A page with 403 is of a proxy, not of the API. */
const isRefusal = (status: number, body: unknown): boolean => status === 401 || (status === 403 && body !== undefined)

function readModels(
  body: unknown,
  { name, readIds }: ModelListRequest & { name: string },
): Pick<ModelAnswer, 'state' | 'ids' | 'reason'> {
  try {
    const ids = body === undefined ? undefined : readIds(body)
    if (ids?.length === 0) return { state: 'unlisted', reason: `${name} lists no models` }
    if (ids) return { state: 'listed', ids }
  } catch {
    // The answer has another form.
  }
  return { state: 'unlisted', reason: `${name} does not answer with a list of models` }
}
