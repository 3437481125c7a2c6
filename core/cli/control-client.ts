// A client of the control API of the running gateway.
import { readJson } from '../json.ts'
import type { ControlClient } from '../plugin/command.ts'
import { CommandError } from '../plugin/errors.ts'
import {
  callGateway,
  type ControlOptions,
  createUnreachableError,
  type GatewayAccessPoint,
  locateGateway,
} from './locate-gateway.ts'

/** Longest wait for a response. */
const timeoutMs = 60_000

/** The gateway is located at the first call. */
export function createControl(options: ControlOptions): ControlClient {
  async function call(path: string, request: RequestInit): Promise<never> {
    const gateway = locateGateway(options)
    const response = await callGateway(gateway, path, { ...request, timeoutMs }).catch((error: Error) => {
      throw createUnreachableError(gateway.address, error)
    })
    const answer: unknown = await response
      .text()
      .then(readJson)
      .catch(() => undefined)
    if (response.ok && typeof answer === 'object' && answer !== null) return answer as never
    throw createResponseError(response.status, answer, gateway)
  }
  const get = (path: string): Promise<never> => call(path, {})
  return {
    get address() {
      return locateGateway(options).address
    },
    get,
    post: (path, body) => call(path, { method: 'POST', body: JSON.stringify(body) }),
    delete: (path) => call(path, { method: 'DELETE' }),
    async *list(path, query = {}) {
      const parameters = new URLSearchParams({ limit: '200' })
      for (const [name, value] of Object.entries(query)) if (value) parameters.set(name, value)
      for (;;) {
        const { items, next } = (await get(`${path}?${parameters.toString()}`)) as { items: never[]; next?: string }
        yield* items
        if (next === undefined) return
        parameters.set('cursor', next)
      }
    },
    connect: async (onNotification) =>
      (await import('./control-connection.ts')).connectControl(locateGateway(options), onNotification),
  }
}

function createResponseError(status: number, answer: unknown, { address, source }: GatewayAccessPoint): CommandError {
  const { error } = (answer ?? {}) as { error?: { type: string; message: string } }
  if (typeof error?.message !== 'string')
    return new CommandError(`The server at ${address} is not svc-gateway; give the gateway's address with --url.`)
  if (status !== 401) return new CommandError(error.message, 1, error)
  return new CommandError(
    `The gateway at ${address} rejects the credential from ${source}; give its configuration file with --config.`,
  )
}
