// Reads multipart forms: fields as text, files by their name, type and size. The content of files is dropped.
import type { BusboyInstance } from '@fastify/busboy'
import { GatewayError } from '../errors.ts'
import { wellFormed } from '../well-formed.ts'
import { checkMultipartTexts } from './charset.ts'
import { addField, type Form } from './payload.ts'

/** What a payload holds of a file. */
export interface FilePart {
  name: string
  type: string
  /** In bytes. */
  size: number
}

type Part = string | FilePart

const maxParts = 200
const maxPartHeaderBytes = 16_384

export const isMultipart = (contentType: string | undefined): boolean =>
  /^\s*multipart\/form-data\s*(?:;|$)/i.test(contentType ?? '')

/** A name that occurs several times becomes a list. Throws `invalid_request` for a malformed body. */
export async function parseMultipart(bytes: Buffer, contentType: string): Promise<Form<Part>> {
  // Loaded when a multipart body comes in, because most gateways never receive one.
  const { Busboy } = await import('@fastify/busboy')
  const limits = { parts: maxParts, headerSize: maxPartHeaderBytes, fieldSize: bytes.length + 1 }
  try {
    const parser = new Busboy({ headers: { 'content-type': contentType }, limits })
    const parts = wellFormed(await readParts(parser, bytes))
    checkMultipartTexts(bytes, boundaryOf(contentType), JSON.stringify(parts))
    return parts
  } catch (cause) {
    if (cause instanceof GatewayError) throw cause
    throw malformed('is not complete, or does not match the boundary in Content-Type', cause)
  }
}

function boundaryOf(contentType: string): string | undefined {
  const [, quoted, plain] = /;\s*boundary\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType) ?? []
  return quoted ?? plain
}

function readParts(parser: BusboyInstance, bytes: Buffer): Promise<Form<Part>> {
  const parts: Form<Part> = {}
  // A part may come without a name, whatever the types of the library say.
  const addPart = (name: string | undefined, part: Part): unknown => name !== undefined && addField(parts, name, part)
  const { promise, resolve, reject } = Promise.withResolvers<typeof parts>()
  parser.on('field', (name, value) => addPart(name, value))
  parser.on('file', (...[field, stream, name, , type]) => {
    const file = { name: name ?? '', type, size: 0 }
    stream.on('data', (chunk: Buffer) => (file.size += chunk.length))
    stream.on('error', reject)
    addPart(field, file)
  })
  parser.on('partsLimit', () => reject(malformed(`has more than ${maxParts} parts`)))
  parser.on('error', reject)
  parser.on('finish', () => resolve(parts))
  parser.end(bytes)
  return promise
}

const malformed = (problem: string, cause?: unknown) =>
  new GatewayError('invalid_request', `The multipart body ${problem}.`, { cause })
