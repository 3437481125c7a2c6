// Proposes how a hook authenticates its sender, from the headers of an example request.
import { variableOf } from './secrets.ts'

/** Returns the scheme that reads one of the headers, and the header. */
export type FindScheme = (
  headers: Headers,
) => Promise<{ name: string; header: string } | undefined> | { name: string; header: string } | undefined

export interface ProposedAuth {
  scheme: string
  secret: string
  header?: string
  prefix?: string
  separator?: string
  timestampPrefix?: string
  signed?: string
  algorithm?: string
  encoding?: string
}

interface AuthProposal {
  /** Absent: the sender shows the hook token, or nothing that is known. */
  auth?: ProposedAuth
  /** A sentence that says where it comes from, and what to check. */
  note: string
}

type Headers = Readonly<Record<string, string>>

/** @param prefix of the environment variable with the secret */
export async function proposeAuth(headers: Headers, prefix: string, findScheme: FindScheme): Promise<AuthProposal> {
  const secret = `\${${prefix}_SECRET}`
  const scheme = await findScheme(headers)
  if (scheme !== undefined) {
    const note = `The scheme "${scheme.name}" verifies the header ${scheme.header}. Set ${prefix}_SECRET to the secret.`
    return { auth: { scheme: scheme.name, secret }, note }
  }
  return proposeHmac(headers, prefix) ?? proposeToken(headers, prefix) ?? { note: noAuth }
}

const noAuth =
  'The command shows no credential, so the hook accepts the hook token. Let the service send it as ' +
  '"Authorization: Bearer <token>", or set `auth` if it signs.'

/** Another header with a signature: its form is read from the example. */
function proposeHmac(headers: Headers, prefix: string): AuthProposal | undefined {
  const [header, value = ''] = Object.entries(headers).find(([name]) => /signature|hmac/.test(name)) ?? []
  if (header === undefined) return undefined
  const note =
    `The header ${header} holds a signature. \`auth\` describes it as far as the example shows it: compare it with ` +
    `the documentation of the service, and set ${prefix}_SECRET to the secret.`
  return { auth: { scheme: 'hmac', header, ...readForm(value), secret: `\${${prefix}_SECRET}` }, note }
}

/** `t=1,v1=ab` has a time; `sha256=ab` has a prefix. The length of the signature tells the hash. */
function readForm(value: string): Partial<ProposedAuth> {
  const [, time, signatures] = /^(\w+=)\d+,\s*(\w+=.*)$/s.exec(value) ?? []
  if (time !== undefined && signatures !== undefined)
    return { separator: ',', timestampPrefix: time, signed: '{timestamp}.{body}', ...readForm(signatures) }
  const [, prefix, signature = ''] = /^([a-z][a-z\d]*[=:])?([^,]*)/is.exec(value) ?? []
  const isHex = /^[\da-f]+$/i.test(signature)
  const bytes = isHex ? signature.length / 2 : Buffer.from(signature, 'base64').length
  const isBase64 = !isHex && /^[\w+/-]{20,}={0,2}$/.test(signature) && bytes in hashes
  return {
    ...(prefix !== undefined && { prefix }),
    ...((isHex || isBase64) && bytes !== 32 && hashes[bytes] && { algorithm: hashes[bytes] }),
    ...(isBase64 && { encoding: 'base64' }),
  }
}

/** By the length of their output. */
const hashes: Readonly<Record<number, string>> = { 20: 'sha1', 32: 'sha256', 64: 'sha512' }

/** A secret that the sender shows in a header. */
function proposeToken(headers: Headers, prefix: string): AuthProposal | undefined {
  const header = Object.keys(headers).find((name) => /token|secret|api-?key|^authorization$/.test(name))
  if (header === undefined) return undefined
  const isAuthorization = header === 'authorization'
  const variable = `${prefix}_${isAuthorization ? 'TOKEN' : variableOf(header.replace(/^x-/, ''))}`
  const isBearer = isAuthorization && /^bearer\b/i.test(headers[header] ?? '')
  const what = isAuthorization && !isBearer ? 'the whole value of the header' : 'the secret'
  return {
    auth: { scheme: 'token', ...(!isBearer && { header }), secret: `\${${variable}}` },
    note: `The sender shows a secret in the header ${header}. Set ${variable} to ${what}.`,
  }
}
