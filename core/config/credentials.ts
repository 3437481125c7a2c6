// The gateway's credential, for which values in the configuration take precedence over environment variables, and the
// tokens of clients.
import { hash } from 'node:crypto'

export interface AuthSettings {
  mode?: 'token' | 'password'
  token?: string
  password?: string
}

export interface Credential {
  mode: 'token' | 'password'
  /** Absent if none is configured for this mode. */
  value?: string
}

/** Without a mode, the password is used if only a password is configured, else the token. */
export function resolveCredential(auth: AuthSettings, env: NodeJS.ProcessEnv): Credential {
  const token = firstNonBlank(auth.token, env['SVC_GATEWAY_TOKEN'])
  const password = firstNonBlank(auth.password, env['SVC_GATEWAY_PASSWORD'])
  const mode = auth.mode ?? (password !== undefined && token === undefined ? 'password' : 'token')
  const value = mode === 'token' ? token : password
  return value === undefined ? { mode } : { mode, value }
}

/** All tokens and passwords of the gateway, in any mode. The hook token must differ from them. */
export const allCredentials = (auth: AuthSettings, env: NodeJS.ProcessEnv): string[] =>
  [auth.token, auth.password, env['SVC_GATEWAY_TOKEN'], env['SVC_GATEWAY_PASSWORD']].flatMap(
    (value) => firstNonBlank(value) ?? [],
  )

/** Trims, because a header loses surrounding white space. A blank value counts as absent. */
const firstNonBlank = (...values: (string | undefined)[]) => values.map((value) => value?.trim()).find(Boolean)

/** `sha256:` and the digest of a token. A header loses surrounding white space, so a token is trimmed. */
export const hashToken = (token: string): string => `sha256:${hash('sha256', token.trim(), 'hex')}`

/** The digest of the token of a client; undefined if it has none. */
export const clientHash = ({ token, tokenHash }: { token?: string; tokenHash?: string }): string | undefined =>
  tokenHash ?? (token === undefined ? undefined : hashToken(token))
