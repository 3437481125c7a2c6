// Gives a gateway that has no credential one, written into its configuration file with as little change as possible.
import { ConfigError } from '../config-error.ts'
import { type Credential, resolveCredential } from '../credentials.ts'
import { mergeIntoText } from './edit-text.ts'
import type { ConfigDocument } from './read.ts'
import { createToken } from './first-run.ts'
import type { GatewayConfig } from '../schema.ts'
import { writePrivateFile } from './write.ts'

/**
 * Generates and writes down the credential of a gateway for which neither the file nor the environment has one.
 * @returns the new credential, to be shown once; `undefined` when there is one already.
 * @throws {ConfigError} when the file can't be written.
 */
export function addMissingCredential(
  document: ConfigDocument,
  auth: GatewayConfig['auth'],
): Required<Credential> | undefined {
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

/**
 * The text with the credential in the innermost object that exists already: `gateway.auth`, `gateway`, or the whole.
 */
const withCredential = ({ text }: ConfigDocument, { mode, value }: Required<Credential>): string =>
  mergeIntoText(text, { gateway: { auth: { [mode]: value } } })
