// Generates a missing credential and writes it into the configuration file.
import { ConfigError } from '../config-error.ts'
import { type Credential, resolveCredential } from '../credentials.ts'
import { mergeIntoText } from './edit-text.ts'
import type { ConfigDocument } from './read.ts'
import { createToken } from './first-run.ts'
import type { GatewayConfig } from '../schema/schema.ts'
import { writePrivateFile } from './write.ts'

/**
 * Generates a credential if neither the file nor the environment has one, and writes it into the file.
 * @returns the new credential; `undefined` if there already is one.
 * @throws {ConfigError} if the file cannot be written.
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
    const problem =
      `is missing, and a new one cannot be written to the file ` +
      `(${(error as NodeJS.ErrnoException).code ?? 'unknown error'}); set it or SVC_GATEWAY_${mode.toUpperCase()}`
    throw new ConfigError(document.file, [{ path: `gateway.auth.${mode}`, problem }])
  }
  return credential
}

/** Adds the credential to the innermost object that exists: `gateway.auth`, `gateway`, or the whole document. */
const withCredential = ({ text }: ConfigDocument, { mode, value }: Required<Credential>): string =>
  mergeIntoText(text, { gateway: { auth: { [mode]: value } } })
