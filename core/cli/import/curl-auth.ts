// Proposes how a hook authenticates its sender, from the headers of an example request.
import type { HookAuth } from '../../config/schema/hook-auth.ts'
import type { Schemes } from '../../config/schemes.ts'
import { variableOf } from './curl-secrets.ts'

export type ProposedAuth = HookAuth & { secret: string }

export interface AuthProposal {
  /** Absent: the sender shows the hook token, or nothing that is known. */
  auth?: ProposedAuth
  /** A sentence that says where it comes from, and what to check. */
  note: string
}

type Headers = Readonly<Record<string, string>>

/** @param prefix of the environment variable with the secret */
export function proposeAuth(headers: Headers, prefix: string, schemes: Schemes): AuthProposal {
  const secret = `\${${prefix}_SECRET}`
  const scheme = findScheme(headers, schemes)
  if (scheme !== undefined) {
    const note = `The scheme "${scheme.name}" verifies the header ${scheme.header}. Set ${prefix}_SECRET to the secret.`
    return { auth: { scheme: scheme.name, secret }, note }
  }
  return proposeHmac(headers, { secret, prefix }) ?? proposeToken(headers, prefix) ?? { note: noAuth }
}

const noAuth =
  'The command shows no credential, so the hook accepts the hook token. Let the service send it as ' +
  '"Authorization: Bearer <token>", or set `auth` if it signs.'

/** The first scheme whose header is there, with the prefix of its signatures if the example shows one. */
function findScheme(headers: Headers, schemes: Schemes): { name: string; header: string } | undefined {
  for (const { name, signatures, tokens } of schemes.values())
    for (const { header, prefix = '' } of listOf(signatures ?? tokens)) {
      const value = headers[header]
      if (value !== undefined && (prefix === '' || isPlaceholder(value) || value.includes(prefix)))
        return { name, header }
    }
  return undefined
}

/** Headers that depend on the configuration are not known. */
const listOf = (declared: unknown): readonly { header: string; prefix?: string }[] =>
  Array.isArray(declared) ? (declared as { header: string }[]) : []

/** `$SIGNATURE`, `<signature>`, `{signature}` or `...` */
const isPlaceholder = (value: string): boolean => /[$<>{}…]|\.\.\.|^[A-Z_]+$/.test(value)

/** Another header with a signature: its form is read from the example. */
function proposeHmac(
  headers: Headers,
  { secret, prefix }: { secret: string; prefix: string },
): AuthProposal | undefined {
  const [header, value = ''] = Object.entries(headers).find(([name]) => /signature|hmac/.test(name)) ?? []
  if (header === undefined) return undefined
  const note =
    `The header ${header} holds a signature. \`auth\` describes it as far as the example shows it: compare it with ` +
    `the documentation of the service, and set ${prefix}_SECRET to the secret.`
  return { auth: { scheme: 'hmac', header, ...readForm(value), secret }, note }
}

/** `t=1,v1=ab` has a time; `sha256=ab` has a prefix. The length of the signature tells the hash. */
function readForm(value: string): Partial<HookAuth> {
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
const hashes: Readonly<Record<number, 'sha1' | 'sha256' | 'sha512'>> = { 20: 'sha1', 32: 'sha256', 64: 'sha512' }

/** A secret that the sender shows in a header. */
function proposeToken(headers: Headers, prefix: string): AuthProposal | undefined {
  const header = Object.keys(headers).find((name) => /token|secret|api-?key|^authorization$/.test(name))
  if (header === undefined) return undefined
  const variable = `${prefix}_${header === 'authorization' ? 'TOKEN' : variableOf(header.replace(/^x-/, ''))}`
  const isBearer = header === 'authorization' && /^bearer\b/i.test(headers[header] ?? '')
  return {
    auth: { scheme: 'token', ...(!isBearer && { header }), secret: `\${${variable}}` },
    note: `The sender shows a secret in the header ${header}. Set ${variable} to ${
      header === 'authorization' && !isBearer ? 'the whole value of the header' : 'the secret'
    }.`,
  }
}
