// Says why a mapping does not match a request: which keys of its `match` do not hold.
import { normalizeHookName } from '../config/hooks-path.ts'
import type { MappingConfig } from '../config/schema/schema.ts'
import { compileConditions } from './conditions.ts'
import { createBodyReader, type MappedRequest } from './mapped-request.ts'

/** The keys of `match` that do not hold. Throws if the mapping cannot read the body. */
export function findUnmet({ match = {}, ...config }: MappingConfig, received: MappedRequest): string[] {
  const request = createBodyReader(config)(received)
  const conditions = (['headers', 'payload'] as const).flatMap((part) =>
    Object.entries(match[part] ?? {}).map(([name, condition]) => ({ part, name, condition })),
  )
  return [
    ...(match.path !== undefined && normalizeHookName(match.path) !== request.path ? ['match.path'] : []),
    ...(match.source !== undefined && sourceOf(request.payload) !== match.source ? ['match.source'] : []),
    ...conditions
      .filter(({ part, name, condition }) => compileConditions({ [part]: { [name]: condition } })?.(request) === false)
      .map(({ part, name }) => `match.${part}["${name}"]`),
  ]
}

/** Reads own properties only, so that a payload without `source` has none. */
export function sourceOf(payload: unknown): string | undefined {
  if (typeof payload !== 'object' || payload === null || !Object.hasOwn(payload, 'source')) return undefined
  const { source } = payload as { source?: unknown }
  return typeof source === 'string' ? source : undefined
}
