// Reads the request that a curl command would send: its headers and its payload.
import { basename } from 'node:path'
import { parseArgs } from 'node:util'
import { readJson } from '../../json.ts'
import { InputError } from '../../plugin/errors.ts'
import { splitCommands } from './shell-words.ts'

/** What a curl command would send. */
export interface CurlRequest {
  url: string | undefined
  /** By name in lower case. */
  headers: Readonly<Record<string, string>>
  payload: object
  /** Whether the body is a form, whose fields are text. */
  isForm: boolean
  /** Whether it is other text, which the payload holds as `text`. */
  isText: boolean
}

type ReadFile = (path: string) => string

/**
 * Reads the first curl command of a shell script. Nothing is run.
 * @param readFile returns the text of a file that the command names, or throws an `InputError`
 * @throws {InputError} when there is no curl command, or a hook could not receive what it sends
 */
export function readCurl(script: string, readFile: ReadFile): CurlRequest {
  const options = readOptions(findCurl(script))
  const headers = readHeaders(options)
  const url = options.find(({ name }) => name === 'url')?.value
  return { url, headers, ...readBody(options, headers['content-type'], readFile) }
}

/** A name for the hook: the last segment of the address if it is a word, because others may be a secret. */
export function nameOfCurl({ url = '' }: CurlRequest): string {
  const [, last] = /^[^?#]*\/([a-z]{2,20}(?:-[a-z]{2,20}){0,2})(?:[?#]|$)/.exec(url.split('/').slice(2).join('/')) ?? []
  return last === undefined || /^(?:(?:web)?hooks?|wake|agent)$/.test(last) ? 'webhook' : last
}

/** The words of the first curl command, without its name. A prompt and variables may be before it. */
function findCurl(script: string): string[] {
  for (const words of splitCommands(script)) {
    const start = words.findIndex((word) => !/^(?:[$%>]|\w+=.*)$/s.test(word))
    if (words[start] === 'curl') return words.slice(start + 1)
  }
  throw new InputError('There is no curl command; give one as the documentation of the service prints it.')
}

// ── Options ─────────────────────────────────────────────────────────────────────────────────────

interface Option {
  /** The long name, such as `header`. An address without an option has the name `url`. */
  name: string
  value: string
}

const withValue =
  'request/X header/H data/d data-ascii data-raw data-binary data-urlencode json form/F form-string user/u ' +
  'oauth2-bearer user-agent/A cookie/b referer/e url output/o max-time/m connect-timeout retry retry-delay ' +
  'retry-max-time proxy/x write-out/w cookie-jar/c dump-header/D cert/E cacert key resolve connect-to interface ' +
  'limit-rate'

/** The only one that concerns the request is `get`. */
const flags =
  'get/G silent/s show-error/S include/i verbose/v insecure/k location/L fail/f fail-with-body compressed globoff/g ' +
  'no-buffer/N progress-bar remote-name/O remote-header-name/J ipv4/4 ipv6/6 http1.0/0 http1.1 http2 http3 tlsv1/1 ' +
  'tlsv1.2 tlsv1.3 disable/q head/I retry-all-errors retry-connrefused no-progress-meter path-as-is ssl-reqd basic ' +
  'anyauth'

const declare = (names: string, type: 'string' | 'boolean') =>
  names.split(' ').map((entry) => {
    const [name = '', short] = entry.split('/')
    return [name, { type, ...(short !== undefined && { short }) }] as const
  })

/** curl's usage lists them all; those about the transfer are ignored. */
function readOptions(words: readonly string[]): Option[] {
  const known = Object.fromEntries([...declare(withValue, 'string'), ...declare(flags, 'boolean')])
  const args = words.map((word) => (word === '-#' ? '--progress-bar' : word))
  const { tokens } = parseArgs({ args, options: known, strict: false, allowPositionals: true, tokens: true })
  return tokens.flatMap((token) => {
    if (token.kind === 'positional') return [{ name: 'url', value: token.value }]
    if (token.kind === 'option-terminator') return []
    const { name, rawName, value } = token
    const option = known[name] ?? known[name.replace(/^no-/, '')]
    if (!option) throw new InputError(`The option ${rawName} of curl is not known here; remove it from the command.`)
    if (option.type === 'string' && value === undefined)
      throw new InputError(`The option ${rawName} of curl has no value; complete the command.`)
    return [{ name, value: value ?? '' }]
  })
}

function readHeaders(options: readonly Option[]): Record<string, string> {
  const headers: Record<string, string> = {}
  for (const { name, value } of options) {
    const [, header = '', text = ''] = name === 'header' ? (/^([^:;]+)[:;]([^]*)$/.exec(value) ?? []) : []
    if (name === 'header' && header === '') throw new InputError('A header of the command is not "name: value".')
    if (header !== '') headers[header.trim().toLowerCase()] = text.trim()
    if (name === 'user') headers['authorization'] = `Basic ${value}`
    if (name === 'oauth2-bearer') headers['authorization'] = `Bearer ${value}`
    if (name === 'cookie') headers['cookie'] = value
    if (name === 'json') headers['content-type'] ??= 'application/json'
  }
  return headers
}

// ── The body ────────────────────────────────────────────────────────────────────────────────────

function readBody(options: readonly Option[], contentType: string | undefined, readFile: ReadFile) {
  if (options.some(({ name }) => name === 'get'))
    throw new InputError('The command sends its data in the address (-G); a hook reads only the body.')
  const parts = options.filter(({ name }) => name.startsWith('form'))
  if (parts.length > 0) return { payload: readParts(parts, readFile), isForm: true, isText: false }
  let body = ''
  for (const { name, value } of options) {
    const text = readData({ name, value }, readFile)
    // Several `-d` are joined with `&`, and several `--json` without anything.
    if (text !== undefined) body += body !== '' && name !== 'json' ? `&${text}` : text
  }
  if (body === '') throw new InputError('The command sends no body; add the payload with -d.')
  const isJson = /^\s*[{[]/.test(body)
  if (!isJson && isOtherType(contentType)) return { payload: { text: body }, isForm: false, isText: true }
  const isForm = !isJson && /^(?:$|application\/x-www-form-urlencoded\b)/i.test(contentType ?? '')
  return { payload: isForm ? Object.fromEntries(new URLSearchParams(body)) : parseObject(body), isForm, isText: false }
}

/** curl sends a body without a type as a form. */
const isOtherType = (contentType = ''): boolean =>
  contentType !== '' && !/^(?:application\/x-www-form-urlencoded\b|multipart\/)|[/+]json\b/i.test(contentType)

function parseObject(body: string): object {
  try {
    const value = readJson(body)
    if (typeof value === 'object' && value !== null) return value
  } catch {
    // As any other body that is no object.
  }
  throw new InputError('A hook would reject the body of the command: it is not valid JSON.')
}

function readData({ name, value }: Option, readFile: ReadFile): string | undefined {
  const file = value.startsWith('@') ? value.slice(1) : undefined
  if (name === 'data' || name === 'data-ascii')
    return file === undefined ? value : readFile(file).replaceAll(/[\r\n]/g, '')
  if (name === 'data-binary' || name === 'json') return file === undefined ? value : readFile(file)
  if (name === 'data-raw') return value
  return name === 'data-urlencode' ? encodeData(value, readFile) : undefined
}

/** `content`, `=content`, `name=content`, `@file` or `name@file`. */
function encodeData(value: string, readFile: ReadFile): string {
  const [, name = '', sign = '', text = ''] = /^([^=@]*)([=@])([^]*)$/.exec(value) ?? ['', '', '', value]
  const content = encodeURIComponent(sign === '@' ? readFile(text) : text)
  return name === '' ? content : `${name}=${content}`
}

/** The fields of `-F`, as a hook reads them: a file is known by its name, type and size. */
function readParts(parts: readonly Option[], readFile: ReadFile): Record<string, unknown> {
  const fields = parts.map(({ name: option, value }) => {
    const [, name = '', text = ''] = /^([^=]+)=([^]*)$/.exec(value) ?? []
    if (name === '') throw new InputError('A form field of the command is not "name=value".')
    return [name, option === 'form-string' ? text : readPart(text, readFile)]
  })
  return Object.fromEntries(fields) as Record<string, unknown>
}

function readPart(text: string, readFile: ReadFile): unknown {
  const [, sign = '', content = '', type] = /^([@<]?)([^]*?)(?:;\s*type=([^;]*))?$/.exec(text) ?? []
  if (sign === '<') return readFile(content)
  if (sign === '@') return { name: basename(content), type: type ?? 'application/octet-stream', size: 0 }
  return content
}
