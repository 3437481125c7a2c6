// Builds the signed content of a request from a text with placeholders for the body, the timestamp and headers.
import { fieldsOfJson } from '../../kit/shapes.ts'
import type { Signature, SignedRequest, TimestampSource } from '../../plugin/plugin.ts'
import type { SchemeRunner } from './run-scheme.ts'

/** Returns undefined when a part of the signed content is missing. */
type SignedContent = (request: SignedRequest, timestamp: string | undefined) => Buffer | undefined

type Part = (request: SignedRequest, timestamp: string | undefined) => string | Buffer | undefined

/** Compiles a text such as `v0:{timestamp}:{body}`. A function belongs to the scheme, so `run` runs it. */
export function compileSignedContent(
  signed: NonNullable<Signature['signed']>,
  run: SchemeRunner['run'],
): SignedContent {
  if (signed === '{body}') return ({ rawBody }) => rawBody
  if (typeof signed === 'function') {
    return (request) =>
      run(() => {
        const text = signed(request)
        return text === undefined ? undefined : Buffer.from(text)
      })
  }
  const parts = signed.split(/(\{[^{}]+\})/).map(partOf)
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

/** The configured URL with the query of the call: a service may put the hash of the body there. */
export const signedUrl = (configured: string | undefined, called: string): string =>
  configured === undefined || !called.includes('?')
    ? (configured ?? called)
    : configured.replace(/\?.*/s, '') + called.slice(called.indexOf('?'))

/** Returns the timestamp as written, because that text was signed; undefined unless it consists of digits. */
export function readTimestamp(
  source: TimestampSource | undefined,
  fields: readonly string[],
  { header, rawBody }: SignedRequest,
): string | undefined {
  if (!source) return undefined
  if ('field' in source) {
    const value = fieldsOfJson(rawBody.toString('utf8'))[source.field]
    return typeof value === 'number' ? digitsOf(String(value)) : undefined
  }
  if ('header' in source) return digitsOf(header(source.header)?.trim())
  return digitsOf(fields.find((field) => field.startsWith(source.prefix))?.slice(source.prefix.length))
}

const digitsOf = (text: string | undefined): string | undefined =>
  text !== undefined && /^\d{1,15}$/.test(text) ? text : undefined
