// Which credential opens the gateway: from the configuration first, then from the environment.

export interface AuthSettings {
  mode?: 'token' | 'password'
  token?: string
  password?: string
}

export interface Credential {
  mode: 'token' | 'password'
  /** Absent when none is configured for this mode. */
  value?: string
}

/** The mode, where it is not set: the password when only a password is configured, else the token. */
export function resolveCredential(auth: AuthSettings, env: NodeJS.ProcessEnv): Credential {
  const token = firstOf(auth.token, env['SVC_GATEWAY_TOKEN'])
  const password = firstOf(auth.password, env['SVC_GATEWAY_PASSWORD'])
  const mode = auth.mode ?? (password !== undefined && token === undefined ? 'password' : 'token')
  const value = mode === 'token' ? token : password
  return value === undefined ? { mode } : { mode, value }
}

/** Everything that could open the gateway, whatever the mode: what a hook token must not repeat. */
export const allCredentials = (auth: AuthSettings, env: NodeJS.ProcessEnv): string[] =>
  [auth.token, auth.password, env['SVC_GATEWAY_TOKEN'], env['SVC_GATEWAY_PASSWORD']].flatMap(
    (value) => firstOf(value) ?? [],
  )

/** A credential is sent in a header, which loses white space around it; nothing but white space is none. */
const firstOf = (...values: (string | undefined)[]) => values.map((value) => value?.trim()).find(Boolean)
