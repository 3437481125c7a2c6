// Decodes bodies by the charset that their Content-Type declares. Bytes that do not fit are refused, never replaced.
import { isUtf8 } from 'node:buffer'
import { GatewayError } from '../errors.ts'

/** The charset that a Content-Type declares, in lower case. */
export function charsetOf(contentType: string | undefined): string {
  const [, quoted, plain] = /;\s*charset\s*=\s*(?:"([^"]*)"|([^\s;"]+))/i.exec(contentType ?? '') ?? []
  return (quoted ?? plain ?? 'utf-8').trim().toLowerCase()
}

/** Its bytes are those of UTF-8, or no text of it. */
const isUtf8Name = (charset: string): boolean => /^(?:utf-?8|(?:us-)?ascii)$/.test(charset)

/** Decodes a whole body. A byte order mark stays in the text. */
export function decode(bytes: Buffer, contentType?: string): string {
  const charset = charsetOf(contentType)
  if (!isUtf8Name(charset)) return decodeBytes(bytes, charset)
  if (!isUtf8(bytes)) throw new GatewayError('invalid_json')
  return bytes.toString('utf8')
}

function decodeBytes(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset, { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch (cause) {
    const isKnown = !(cause instanceof RangeError)
    throw isKnown ? createMismatch(cause) : createUnknown(cause)
  }
}

const createMismatch = (cause?: unknown) =>
  new GatewayError('invalid_request', 'The text of the body is not in the charset of its Content-Type; send UTF-8.', {
    cause,
  })

const createUnknown = (cause?: unknown) =>
  new GatewayError('invalid_request', 'The Content-Type declares a charset that is not known; send UTF-8.', { cause })

/** The names and values of a form. */
export function parseFormText(text: string, contentType: string | undefined): Iterable<[string, string]> {
  const charset = charsetOf(contentType)
  if (!isUtf8Name(charset))
    return text
      .split('&')
      .filter(Boolean)
      .map((pair) => decodePair(pair, charset))
  const fields = [...new URLSearchParams(text)]
  // It replaces other bytes by this character.
  const isReplaced = fields.some((pair) => pair.some((part) => part.includes('\uFFFD')))
  if (isReplaced && !/\uFFFD|%EF%BF%BD/i.test(text)) throw createMismatch()
  return fields
}

function decodePair(pair: string, charset: string): [string, string] {
  const [name = '', value = ''] = pair.split(/=(.*)/s, 2)
  return [decodeFormPart(name, charset), decodeFormPart(value, charset)]
}

/** Letters of ASCII belong to the bytes, because some charsets use them inside a character. */
function decodeFormPart(part: string, charset: string): string {
  const text = part.replaceAll('+', ' ')
  const toBytes = (coded: string): Buffer =>
    Buffer.from(
      coded.replaceAll(/%([\da-f]{2})/gi, (_all, digits: string) => String.fromCharCode(Number.parseInt(digits, 16))),
      'latin1',
    )
  if (/^[\x20-\x7e]*$/.test(text)) return decodeBytes(toBytes(text), charset)
  return text.replaceAll(/(?:%[\da-f]{2})+/gi, (coded) => decodeBytes(toBytes(coded), charset))
}

/**
 * Refuses a multipart body whose texts are not UTF-8: the parser would replace their bytes. `texts` are all of them.
 */
export function checkMultipartTexts(bytes: Buffer, boundary: string | undefined, texts: string): void {
  if (texts.includes('\uFFFD') && !bytes.includes('\uFFFD')) throw createMismatch()
  for (const charset of listPartCharsets(bytes, boundary)) if (!isUtf8Name(charset)) throw createUnsupported()
}

const createUnsupported = () =>
  new GatewayError('invalid_request', 'A part of the multipart body declares another charset than UTF-8; send UTF-8.')

/** The charsets in the headers of the parts. A delimiter cannot occur inside a part. */
function listPartCharsets(bytes: Buffer, boundary: string | undefined): string[] {
  const parts = boundary === undefined ? [] : bytes.toString('latin1').split(`--${boundary}`)
  return parts.flatMap((part) => {
    const end = part.indexOf('\r\n\r\n')
    const [, type] = /\r\ncontent-type:([^\r\n]*)/i.exec(part.slice(0, end + 2)) ?? []
    const isFile = /\r\ncontent-disposition:[^\r\n]*\bfilename\*?=/i.test(part.slice(0, end + 2))
    return type === undefined || isFile ? [] : [charsetOf(type)]
  })
}
