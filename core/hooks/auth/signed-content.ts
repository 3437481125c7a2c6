// Puts together what a sender has signed: a text with places for the body, the time of signing, headers.
import type { TimestampSource } from './schemes.ts'
import type { SignedRequest } from './verifier.ts'

/** @returns undefined when a part that is signed is missing. */
type SignedContent = (request: SignedRequest, timestamp: string | undefined) => Buffer | undefined

type Part = (request: SignedRequest, timestamp: string | undefined) => string | Buffer | undefined

/** Compiles `v0:{timestamp}:{body}` and the like. */
export function compileSignedContent(signed: string | Part): SignedContent {
  if (signed === '{body}') return ({ rawBody }) => rawBody
  const parts = typeof signed === 'string' ? signed.split(/(\{[^{}]+\})/).map(partOf) : [signed]
  return (request, timestamp) => {
    const pieces = parts.map((part) => part(request, timestamp))
    return pieces.includes(undefined) ? undefined : Buffer.concat(pieces.map((piece) => Buffer.from(piece as string)))
  }
}

function partOf(text: string): Part {
  const header = /^\{headers\.(.+)\}$/.exec(text)?.[1]?.toLowerCase()
  if (header !== undefined) return (request) => request.header(header)
  switch (text) {
    case '{body}':
      return ({ rawBody }) => rawBody
    case '{timestamp}':
      return (_request, timestamp) => timestamp
    case '{method}':
      return ({ method }) => method
    case '{url}':
      return ({ url }) => url()
    default:
      return () => text
  }
}

/** The time of signing as it was written, since so it was signed; only digits are one. */
export function readTimestamp(
  source: TimestampSource | undefined,
  fields: readonly string[],
  { header, rawBody }: SignedRequest,
): string | undefined {
  if (!source) return undefined
  if ('field' in source) return digitsOf(fieldOf(rawBody, source.field))
  if ('header' in source) return digitsOf(header(source.header)?.trim())
  return digitsOf(fields.find((field) => field.startsWith(source.prefix))?.slice(source.prefix.length))
}

const digitsOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? text : undefined

function fieldOf(rawBody: Buffer, field: string): string | undefined {
  try {
    const value: unknown = (JSON.parse(rawBody.toString('utf8')) as Record<string, unknown> | null)?.[field]
    return typeof value === 'number' ? String(value) : undefined
  } catch {
    return undefined
  }
}
