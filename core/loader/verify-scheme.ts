// Checks what a scheme declares about signatures and tokens, and describes in one sentence what is wrong.
import { signedTextProblem } from '../config/schemes.ts'

type Fields = Record<string, unknown>

/** Each check relies on those before it, so the caller stops at the first fault. */
export function* schemeFaults(scheme: Fields): Generator<string | undefined> {
  const ways = ['signatures', 'tokens', 'createVerifier'].filter((field) => scheme[field] !== undefined)
  if (ways.length !== 1) yield 'it must declare one of `signatures`, `tokens` and `createVerifier`'
  yield listFault('signatures', scheme['signatures'], signatureFault)
  yield listFault('tokens', scheme['tokens'], tokenFault)
  if (scheme['hiddenHeaders'] !== undefined)
    yield listFault('hiddenHeaders', scheme['hiddenHeaders'], (header) => headerFault('a name', header))
  const { covers, secret } = scheme
  if (covers !== undefined && !(Array.isArray(covers) && covers.every((one) => one === 'body' || one === 'url')))
    yield '`covers` must be a list of "body" and "url"'
  if (secret !== undefined && secret !== false && !isText(secret))
    yield '`secret` must say what a valid secret is, or be false if there is none'
}

/** Functions return their lists when the configuration is known. */
function listFault(field: string, list: unknown, check: (entry: unknown) => string | undefined): string | undefined {
  if (list === undefined || (typeof list === 'function' && field !== 'hiddenHeaders')) return undefined
  if (!Array.isArray(list) || list.length === 0) return `\`${field}\` must be a list with at least one entry`
  const faults = list.map((entry, index) => ({ index, fault: check(entry) }))
  const found = faults.find(({ fault }) => fault !== undefined)
  return found && `in \`${field}[${found.index}]\`, ${found.fault}`
}

const choices: Readonly<Record<string, readonly unknown[]>> = {
  algorithm: ['sha256', 'sha1', 'sha512', 'ed25519'],
  encoding: ['hex', 'base64', 'base64url'],
  secretEncoding: ['utf8', 'hex', 'base64'],
}

function signatureFault(signature: unknown): string | undefined {
  if (!isObject(signature)) return 'an entry must be an object with at least a `header`'
  const choice = Object.entries(choices).find(
    ([key, values]) => signature[key] !== undefined && !values.includes(signature[key]),
  )
  if (choice) return `\`${choice[0]}\` must be ${choice[1].map((value) => `"${String(value)}"`).join(', ')}`
  const text = ['prefix', 'separator', 'secretPrefix'].find(
    (key) => signature[key] !== undefined && typeof signature[key] !== 'string',
  )
  return (
    headerFault('`header`', signature['header']) ??
    (signature['id'] === undefined ? undefined : headerFault('`id`', signature['id'])) ??
    (text && `\`${text}\` must be a text`) ??
    (signature['separator'] === ''
      ? '`separator` must not be empty; leave it out if there is one signature'
      : undefined) ??
    signedFault(signature)
  )
}

function signedFault({ signed = '{body}', timestamp, id }: Fields): string | undefined {
  if (typeof signed !== 'string' && typeof signed !== 'function') return '`signed` must be a text or a function'
  const problem = typeof signed === 'string' ? signedTextProblem(signed) : undefined
  if (problem !== undefined) return `\`signed\` ${problem}`
  const hasTime = typeof signed === 'string' && signed.includes('{timestamp}')
  if (hasTime && timestamp === undefined) return '`signed` contains {timestamp}; say in `timestamp` where the time is'
  const fault = timestamp === undefined ? undefined : timestampFault(timestamp)
  if (fault !== undefined) return fault
  // Only a field of the body is covered by `{body}`.
  if (typeof signed === 'string' && isObject(timestamp) && timestamp['field'] === undefined && !hasTime)
    return '`signed` must contain {timestamp}; otherwise anybody could change the time'
  return typeof signed === 'string' && isText(id) && !signed.toLowerCase().includes(`{headers.${id}}`)
    ? `\`signed\` must contain {headers.${id}}; otherwise anybody could change the id`
    : undefined
}

function timestampFault(timestamp: unknown): string | undefined {
  if (!isObject(timestamp)) return '`timestamp` must be an object'
  const { header, prefix, field, unit, toleranceSeconds } = timestamp
  const sources = [header, prefix, field].filter((one) => one !== undefined)
  if (sources.length !== 1 || !sources.every((one) => typeof one === 'string'))
    return '`timestamp` must have one of `header`, `prefix` and `field`'
  if (header !== undefined) {
    const fault = headerFault('`timestamp.header`', header)
    if (fault !== undefined) return fault
  }
  if (unit !== undefined && unit !== 's' && unit !== 'ms') return '`timestamp.unit` must be "s", "ms"'
  return toleranceSeconds === undefined || (typeof toleranceSeconds === 'number' && toleranceSeconds > 0)
    ? undefined
    : '`timestamp.toleranceSeconds` must be a number above 0'
}

function tokenFault(token: unknown): string | undefined {
  if (!isObject(token)) return 'an entry must be an object with a `header`'
  const { header, word } = token
  return headerFault('`header`', header) ?? (word === undefined || isText(word) ? undefined : '`word` must be a text')
}

const headerFault = (what: string, header: unknown): string | undefined =>
  typeof header === 'string' && /^[\da-z!#$%&'*+.^_`|~-]+$/.test(header)
    ? undefined
    : `${what} must be the name of a header in lower case`

const isObject = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
const isText = (value: unknown): value is string => typeof value === 'string' && value.trim() !== ''
