// The codes of questions to approvers: how they are stored, and how the answers with them are read.
import { createHash } from 'node:crypto'
import type { MessageChoice } from '../plugin/plugin.ts'

/** The form in which a code is stored. */
export const hashCode = (code: string): string => createHash('sha256').update(code.toUpperCase()).digest('hex')

/** The answers that an approver can pick. They are read like typed ones. */
export const choicesOf = (code: string, isNarrowed = false): MessageChoice[] => [
  { label: 'Approve', text: `approve ${code}` },
  ...(isNarrowed ? [{ label: 'Approve for this turn', text: `approve ${code} turn` }] : []),
  { label: 'Deny', text: `deny ${code}` },
]

export interface TypedAnswer {
  status: 'approved' | 'denied'
  code: string
  reason: string | null
  /** True: all such calls of the turn are approved. */
  forTurn: boolean
}

const pattern = /^(approve|deny)\s+([a-z2-9]{8})(?:\s([^]*))?$/i
const maxReasonLength = 500

/** Undefined if the text is not an answer. Neither is `approve <code>` with more text, which might be a condition. */
export function parseAnswer(text: string): TypedAnswer | undefined {
  // The question has backticks, which may be copied.
  const [, verb = '', code, rest = ''] = pattern.exec(text.replaceAll('`', ' ').trim()) ?? []
  if (code === undefined) return undefined
  if (verb.toLowerCase() === 'approve') {
    const forTurn = rest.trim().toLowerCase() === 'turn'
    return rest.trim() === '' || forTurn ? { status: 'approved', code, reason: null, forTurn } : undefined
  }
  const reason = rest.replaceAll(/\s+/g, ' ').trim().slice(0, maxReasonLength).toWellFormed()
  return { status: 'denied', code, reason: reason === '' ? null : reason, forTurn: false }
}
