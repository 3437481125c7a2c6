// Compares a stored request with the mappings of its hook, to show which of them is used and why the others are not.
import { GatewayError } from '../errors.ts'
import type { StoredRequest } from '../store/store.ts'
import { readStoredRequest } from './mapped-request.ts'
import type { Mappings } from './mappings.ts'

export interface ComparedMapping {
  id: string
  /** Whether it is the one that handles the request. */
  isUsed: boolean
  /** The keys of its `match` that do not hold. */
  unmet: string[]
}

/** The mappings in their order, as they are now. Undefined: the body is not stored, or cannot be read. */
export type CompareMappings = (
  request: Pick<StoredRequest, 'hook' | 'headers' | 'query' | 'body'>,
) => ComparedMapping[] | undefined

export const createCompareMappings =
  ({ routeFor }: Pick<Mappings, 'routeFor'>): CompareMappings =>
  (stored) => {
    if (stored.body === null) return undefined
    const { mappings, hiddenHeaders, findMapping } = routeFor(stored.hook)
    try {
      const request = readStoredRequest(stored, { rawBody: stored.body, hiddenHeaders })
      const used = findMapping(request)
      return mappings.map((mapping) => ({
        id: mapping.id,
        isUsed: mapping === used,
        unmet: mapping.findUnmet(request),
      }))
    } catch (error) {
      if (error instanceof GatewayError) return undefined
      throw error
    }
  }
