// Checks what a scheme declares about signatures and tokens, and describes in one sentence what is wrong.
import { signedTextProblem } from '../config/schemes.ts'
import { isRecord } from '../config/walk.ts'
import type { Signature, TokenHeader } from '../plugin/plugin.ts'
import { type Fault, fault, type Fields, inside, isText, memberFaults, type Members } from './members.ts'

/** What each entry may have. The checks below say what it must be. */
const signatureMembers: Members<Signature> = {
  header: 'anything',
  algorithm: 'anything?',
  encoding: 'anything?',
  prefix: 'anything?',
  separator: 'anything?',
  signed: 'anything?',
  timestamp: 'anything?',
  id: 'anything?',
  secretEncoding: 'anything?',
  secretPrefix: 'anything?',
}
const tokenMembers: Members<TokenHeader> = { header: 'anything', word: 'anything?' }

export function* schemeFaults(scheme: Fields): Iterable<Fault> {
  const ways = ['signatures', 'tokens', 'createVerifier'].filter((field) => scheme[field] !== undefined)
  if (ways.length !== 1) yield fault('', 'it must declare one of `signatures`, `tokens` and `createVerifier`')
  yield* listFaults('signatures', scheme['signatures'], { find: signatureFault, members: signatureMembers })
  yield* listFaults('tokens', scheme['tokens'], { find: tokenFault, members: tokenMembers })
  if (Array.isArray(scheme['hiddenHeaders']))
    yield* listFaults('hiddenHeaders', scheme['hiddenHeaders'], { find: (header) => headerFault('a name', header) })
  const { covers = [], secret } = scheme
  if (Array.isArray(covers) && !covers.every((one) => one === 'body' || one === 'url'))
    yield fault('covers', '`covers` must be a list of "body" and "url"')
  if (secret !== undefined && secret !== false && !isText(secret))
    yield fault('secret', '`secret` must say what a valid secret is, or be false if there is none')
}

interface EntryCheck {
  find(entry: unknown): string | undefined
  /** Absent: an entry is no object. */
  members?: Readonly<Record<string, string>>
}

/** Functions return their lists when the configuration is known. */
function* listFaults(field: string, list: unknown, { find, members }: EntryCheck): Iterable<Fault> {
  if (list === undefined || (typeof list === 'function' && field !== 'hiddenHeaders')) return
  if (!Array.isArray(list) || list.length === 0) {
    yield fault(field, `\`${field}\` must be a list with at least one entry`)
    return
  }
  for (const [index, entry] of list.entries()) {
    const place = `${field}[${index}]`
    const problem = find(entry)
    if (problem !== undefined) yield fault(place, `in \`${place}\`, ${problem}`)
    if (members && isRecord(entry))
      yield* inside(place, memberFaults(entry, { members, of: 'an entry' }, { compile: false }))
  }
}

const choices: Readonly<Record<string, readonly unknown[]>> = {
  algorithm: ['sha256', 'sha1', 'sha512', 'ed25519'],
  encoding: ['hex', 'base64', 'base64url'],
  secretEncoding: ['utf8', 'hex', 'base64'],
}

function signatureFault(signature: unknown): string | undefined {
  if (!isRecord(signature)) return 'an entry must be an object with at least a `header`'
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
  if (typeof signed === 'string' && isRecord(timestamp) && timestamp['field'] === undefined && !hasTime)
    return '`signed` must contain {timestamp}; otherwise anybody could change the time'
  return typeof signed === 'string' && isText(id) && !signed.toLowerCase().includes(`{headers.${id}}`)
    ? `\`signed\` must contain {headers.${id}}; otherwise anybody could change the id`
    : undefined
}

function timestampFault(timestamp: unknown): string | undefined {
  if (!isRecord(timestamp)) return '`timestamp` must be an object'
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
  if (!isRecord(token)) return 'an entry must be an object with a `header`'
  const { header, word } = token
  return headerFault('`header`', header) ?? (word === undefined || isText(word) ? undefined : '`word` must be a text')
}

const headerFault = (what: string, header: unknown): string | undefined =>
  typeof header === 'string' && /^[\da-z!#$%&'*+.^_`|~-]+$/.test(header)
    ? undefined
    : `${what} must be the name of a header in lower case`
