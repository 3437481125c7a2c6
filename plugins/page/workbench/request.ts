// The request that a mapping is tried with.
import { readJson } from '../api/read-json.ts'
import type { Reply } from '../api/client.ts'

export interface GivenRequest {
  hook: string
  body: string
  /** One `name: value` on each line. */
  headers: string
  query: Reply<'GET /api/requests/{id}'>['query']
  /** The body of the captured request is not stored. */
  isBodyMissing: boolean
}

const examplePayload = JSON.stringify({ service: 'shop', status: 'failed', attempts: 3 }, null, 2)

export const emptyRequest: GivenRequest = {
  hook: '',
  body: examplePayload,
  headers: '',
  query: {},
  isBodyMissing: false,
}

export const readStored = ({ hook, body, headers, query }: Reply<'GET /api/requests/{id}'>): GivenRequest => ({
  hook,
  body: pretty(body ?? '{}'),
  headers: Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n'),
  query: query ?? {},
  isBodyMissing: body === null || body === undefined,
})

export function parseHeaders(text: string): Record<string, string> {
  const lines = text.split('\n').map((line) => line.split(/:(.*)/s))
  const pairs = lines.map(([name = '', value = '']) => [name.trim().toLowerCase(), value.trim()] as const)
  return Object.fromEntries(pairs.filter(([name]) => name !== ''))
}

function pretty(body: string): string {
  try {
    return JSON.stringify(readJson(body), null, 2)
  } catch {
    return body
  }
}
