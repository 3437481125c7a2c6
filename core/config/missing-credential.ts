// Gives a gateway that has no credential one, written into its configuration file with as little change as possible.
import { ConfigError } from './config-error.ts'
import { type Credential, resolveCredential } from './credentials.ts'
import type { ConfigDocument } from './file.ts'
import { createToken } from './first-run.ts'
import type { GatewayConfig } from './schema.ts'
import { writePrivateFile } from './write-file.ts'

/**
 * Generates and writes down the credential of a gateway for which neither the file nor the environment has one.
 * @returns the new credential, to be shown once; `undefined` when there is one already.
 * @throws {ConfigError} when the file can't be written.
 */
export function addMissingCredential(document: ConfigDocument, auth: GatewayConfig['auth']): Required<Credential> | undefined {
  const { mode, value } = resolveCredential(auth, document.env)
  if (value !== undefined) return undefined
  const credential = { mode, value: createToken() }
  try {
    writePrivateFile(document.file, withCredential(document, credential), { overwrite: true })
  } catch (error) {
    const problem = `is missing, and a new one can't be written into the file (${(error as NodeJS.ErrnoException).code ?? 'unknown error'}); set it or SVC_GATEWAY_${mode.toUpperCase()}`
    throw new ConfigError(document.file, [{ path: `gateway.auth.${mode}`, problem }])
  }
  return credential
}

/** The text with the credential in the innermost object that exists already: `gateway.auth`, `gateway`, or the whole. */
function withCredential({ text, layout }: ConfigDocument, { mode, value: secret }: Required<Credential>): string {
  const path = ['gateway', 'auth']
  const depth = [2, 1, 0].find((length) => layout.insideOf(path.slice(0, length)) !== undefined) ?? 0
  const member = path.slice(depth).reduceRight((inner, key) => `${key}: { ${inner} }`, `${mode}: '${secret}'`)
  return insertMember(text, layout.insideOf(path.slice(0, depth)) ?? 0, member)
}

/** Puts a member first into an object; on a line of its own where the object begins with a line break, after a comment on the brace's line. */
function insertMember(text: string, inside: number, member: string): string {
  const put = (at: number, piece: string) => `${text.slice(0, at)}${piece}${text.slice(at)}`
  const [restOfLine] = /^[ \t]*(?:\/\/.*)?(?=\r?\n)/.exec(text.slice(inside)) ?? []
  if (restOfLine === undefined) return put(inside, /^\s*\}/.test(text.slice(inside)) ? ` ${member} ` : ` ${member},`)
  const at = inside + restOfLine.length
  const [untilFirst = ''] = /^(?:\r?\n[ \t]*)+(?=[^\s}])/.exec(text.slice(at)) ?? []
  const [indent = '\n  '] = /\r?\n[ \t]*$/.exec(untilFirst) ?? []
  return put(at, `${indent}${member},`)
}
