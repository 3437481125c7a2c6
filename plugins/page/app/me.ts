// Who the reader is, and what their role includes: the page shows no view and no button that would be refused.
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { OperationName, Reply } from '../api/client.ts'

type Reader = Reply<'GET /api/me'>

export interface Me extends Omit<Reader, 'operations'> {
  may(operation: OperationName): boolean
  /** Whether the reader may write to agents over the WebSocket. */
  mayChat: boolean
  /** Whether the reader may follow the log over the WebSocket. */
  mayFollowLog: boolean
}

export function readMe({ operations, ...reader }: Reader): Me {
  const known = new Set(operations)
  return {
    ...reader,
    may: (operation) => known.has(operation),
    mayChat: reader.role !== 'viewer',
    mayFollowLog: reader.content && reader.agents === undefined,
  }
}

export const MeContext = createContext<Me | undefined>(undefined)

export function useMe(): Me {
  const me = useContext(MeContext)
  if (!me) throw new Error('Nobody is signed in.')
  return me
}
