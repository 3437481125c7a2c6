// Reads the options of a curl command: those about the request are returned, and those about the transfer are ignored.
import { CommandError } from '../../plugin/errors.ts'

export interface CurlOption {
  /** The long name, such as `header`. An address without an option has the name `url`. */
  name: string
  value: string
}

/** By their letters. */
const shortNames: Readonly<Record<string, string>> = {
  X: 'request',
  H: 'header',
  d: 'data',
  F: 'form',
  u: 'user',
  A: 'user-agent',
  b: 'cookie',
  e: 'referer',
  G: 'get',
  o: 'output',
  m: 'max-time',
  x: 'proxy',
  w: 'write-out',
  c: 'cookie-jar',
  D: 'dump-header',
  E: 'cert',
}

const withValue: ReadonlySet<string> = new Set(
  (
    'request header data data-ascii data-raw data-binary data-urlencode json form form-string user oauth2-bearer ' +
    'user-agent cookie referer url output max-time connect-timeout retry retry-delay retry-max-time proxy write-out ' +
    'cookie-jar dump-header cert cacert key resolve connect-to interface limit-rate'
  ).split(' '),
)

/** Options without a value. The only one that concerns the request is `get`. */
const flags: ReadonlySet<string> = new Set(
  (
    'get silent show-error include verbose insecure location fail fail-with-body compressed globoff no-buffer ' +
    'progress-bar remote-name remote-header-name ipv4 ipv6 http1.0 http1.1 http2 http3 tlsv1.2 tlsv1.3 ' +
    'retry-all-errors retry-connrefused no-progress-meter path-as-is ssl-reqd basic anyauth disable head'
  ).split(' '),
)
const shortFlags: ReadonlySet<string> = new Set('sSivkLfgN#OJ460qIZG1'.split(''))

export function readOptions(words: readonly string[]): CurlOption[] {
  const rest = [...words]
  const options: CurlOption[] = []
  for (let word = rest.shift(); word !== undefined; word = rest.shift()) {
    if (word.startsWith('--') && word !== '--') options.push(readLong(word, rest))
    else if (word.startsWith('-') && word.length > 1 && word !== '--') options.push(...readShort(word, rest))
    else if (word !== '--') options.push({ name: 'url', value: word })
  }
  return options
}

function readLong(word: string, rest: string[]): CurlOption {
  const [, name = '', attached] = /^--([^=]+)(?:=([^]*))?$/.exec(word) ?? []
  if (withValue.has(name)) return { name, value: attached ?? takeValue(word, rest) }
  if (flags.has(name) || flags.has(name.replace(/^no-/, ''))) return { name, value: '' }
  throw createUnknownError(word)
}

/** `-sSXPOST`: letters of options without a value, then one that may have its value attached. */
function readShort(word: string, rest: string[]): CurlOption[] {
  const options: CurlOption[] = []
  for (let at = 1; at < word.length; at++) {
    const letter = word[at] ?? ''
    const name = shortNames[letter]
    if (name !== undefined && withValue.has(name))
      return [...options, { name, value: word.slice(at + 1) || takeValue(`-${letter}`, rest) }]
    if (!shortFlags.has(letter)) throw createUnknownError(`-${letter}`)
    options.push({ name: name ?? letter, value: '' })
  }
  return options
}

function takeValue(option: string, rest: string[]): string {
  const value = rest.shift()
  if (value !== undefined) return value
  throw new CommandError(`The option ${option} of curl has no value; complete the command.`)
}

const createUnknownError = (option: string): CommandError =>
  new CommandError(`The option ${option} of curl is not known here; remove it from the command.`)
