// Turns the reply to an imported curl command into a request and a mapping.
import type { Reply } from '../api/client.ts'
import { type Draft, emptyDraft, formatKeys } from './draft.ts'
import { emptyRequest, type GivenRequest } from './request.ts'

export interface ImportedCurl {
  request: GivenRequest
  draft: Draft
  notes: readonly string[]
}

export function readImported({ mapping, payload, headers, notes }: Reply<'POST /api/hooks/import-curl'>): ImportedCurl {
  const { match, messageTemplate, ...further } = mapping
  const request = {
    ...emptyRequest,
    hook: match.path,
    body: JSON.stringify(payload, null, 2),
    headers: Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n'),
  }
  return {
    request,
    notes,
    draft: { ...emptyDraft, path: match.path, template: messageTemplate, more: formatKeys(further) },
  }
}
