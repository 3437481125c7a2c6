// Reads the request that a curl command would send: its headers and its payload.
import { readFileSync } from 'node:fs'
import { basename } from 'node:path'
import { confine, PathError } from '../../config/file/paths.ts'
import { isForm, looksLikeJson, parsePayload } from '../../http/payload.ts'
import { CommandError } from '../../plugin/errors.ts'
import { type CurlOption, readOptions } from './curl-options.ts'
import { splitCommands } from './shell-words.ts'

export interface CurlRequest {
  url: string | undefined
  /** By name in lower case. */
  headers: Readonly<Record<string, string>>
  payload: object
  /** Whether the body is a form, whose fields are text. */
  isForm: boolean
}

/** @param dir the folder that may be read, where the command names files */
export function readCurl(script: string, dir: string): CurlRequest {
  const options = readOptions(findCurl(script))
  const valuesOf = (name: string): string[] => options.filter((one) => one.name === name).map(({ value }) => value)
  const headers = readHeaders(options)
  return { url: valuesOf('url')[0], headers, ...readBody(options, { headers, dir }) }
}

/** The words of the first curl command, without its name. A prompt and variables may be before it. */
function findCurl(script: string): string[] {
  for (const words of splitCommands(script)) {
    const start = words.findIndex((word) => !/^(?:[$%>]|\w+=.*)$/s.test(word))
    if (words[start] === 'curl') return words.slice(start + 1)
  }
  throw new CommandError('There is no curl command; give one as the documentation of the service prints it.')
}

function readHeaders(options: readonly CurlOption[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, value } of options) {
    const [, header = '', text = ''] = name === 'header' ? (/^([^:;]+)[:;]\s*([^]*)$/.exec(value) ?? []) : []
    if (name === 'header' && header === '') throw new CommandError('A header of the command is not "name: value".')
    if (header !== '') headers[header.trim().toLowerCase()] = text.trim()
    if (name === 'user') headers['authorization'] = `Basic ${value}`
    if (name === 'oauth2-bearer') headers['authorization'] = `Bearer ${value}`
    if (name === 'cookie') headers['cookie'] = value
    if (name === 'json') headers['content-type'] ??= 'application/json'
  }
  return headers
}

interface BodySource {
  headers: Readonly<Record<string, string>>
  dir: string
}

function readBody(options: readonly CurlOption[], { headers, dir }: BodySource) {
  if (options.some(({ name }) => name === 'get' || name === 'G'))
    throw new CommandError('The command sends its data in the address (-G); a hook reads only the body.')
  const parts = options.filter(({ name }) => name.startsWith('form'))
  if (parts.length > 0) return { payload: readParts(parts, dir), isForm: true }
  const text = readData(options, dir)
  if (text === '') throw new CommandError('The command sends no body; add the payload with -d.')
  const contentType = headers['content-type'] ?? (looksLikeJson(text) ? undefined : urlEncoded)
  try {
    const payload = parsePayload(text, 'object-or-array-or-form', contentType)
    return { payload, isForm: isForm(contentType) && !looksLikeJson(text) }
  } catch (error) {
    throw new CommandError(`A hook would reject the body of the command: ${(error as Error).message}`)
  }
}

const urlEncoded = 'application/x-www-form-urlencoded'

/** Several `-d` are joined with `&`, and several `--json` without anything. */
function readData(options: readonly CurlOption[], dir: string): string {
  let body = ''
  for (const { name, value } of options) {
    const text = dataOf(name, value, dir)
    if (text !== undefined) body += body !== '' && name !== 'json' ? `&${text}` : text
  }
  return body
}

function dataOf(name: string, value: string, dir: string): string | undefined {
  const file = value.startsWith('@') ? value.slice(1) : undefined
  switch (name) {
    case 'data':
    case 'data-ascii':
      return file === undefined ? value : readLocal(dir, file).replaceAll(/[\r\n]/g, '')
    case 'data-binary':
    case 'json':
      return file === undefined ? value : readLocal(dir, file)
    case 'data-raw':
      return value
    case 'data-urlencode':
      return encodeData(value, dir)
    default:
      return undefined
  }
}

/** `content`, `=content`, `name=content`, `@file` or `name@file`. */
function encodeData(value: string, dir: string): string {
  const [, name = '', sign = '', text = ''] = /^([^=@]*)([=@])([^]*)$/.exec(value) ?? ['', '', '', value]
  const content = encodeURIComponent(sign === '@' ? readLocal(dir, text) : text)
  return name === '' ? content : `${name}=${content}`
}

/** The fields of `-F`, as a hook reads them: a file is known by its name, type and size. */
function readParts(parts: readonly CurlOption[], dir: string): Record<string, unknown> {
  const payload: Record<string, unknown> = {}
  for (const { name: option, value } of parts) {
    const [, name = '', text = ''] = /^([^=]+)=([^]*)$/.exec(value) ?? []
    if (name === '' || name === '__proto__') throw new CommandError('A form field of the command is not "name=value".')
    payload[name] = option === 'form-string' ? text : readPart(text, dir)
  }
  return payload
}

function readPart(text: string, dir: string): unknown {
  const [, sign = '', content = '', type] = /^([@<]?)([^]*?)(?:;\s*type=([^;]*))?$/.exec(text) ?? []
  if (sign === '<') return readLocal(dir, content)
  if (sign === '@') return { name: basename(content), type: type ?? 'application/octet-stream', size: 0 }
  return content
}

/** Only files below the working directory, so that a command from elsewhere cannot put private files into a sample. */
function readLocal(dir: string, path: string): string {
  try {
    return readFileSync(confine(dir, path.replace(/^\.\//, '')), 'utf8')
  } catch (error) {
    if (error instanceof PathError)
      throw new CommandError(`The file "${path}" of the command cannot be used: ${error.message}.`)
    throw new CommandError(
      `The file "${path}" of the command cannot be read (${(error as NodeJS.ErrnoException).code}).`,
    )
  }
}
