// The bot's access token, kept until shortly before it expires.
import { connectStatusError, type Service } from 'svc-gateway/kit'
import { AuthError } from 'svc-gateway/plugin'
import type { TeamsConfig } from './config.ts'

export interface Tokens {
  /** Rejects with an `AuthError` when the credentials are refused. */
  get(): Promise<string>
  /** A token has worked. */
  confirm(): void
  /**
   * The token was refused: the next `get` fetches another one.
   * @returns whether the one before was refused, too: then another one does not help
   */
  discard(token: string): boolean
}

/** A new token is fetched this long before the old one expires. */
const marginMs = 5 * 60_000
const timeoutMs = 15_000

/** Where the bot gets its tokens, for errors. */
export const tokenServiceOf = (config: TeamsConfig): Service => ({
  name: 'The token service of Microsoft',
  url: tokenUrlOf(config),
  setting: 'tokenUrl',
})

const tokenUrlOf = ({ tenantId, tokenUrl }: TeamsConfig): string =>
  tokenUrl ?? `https://login.microsoftonline.com/${encodeURIComponent(tenantId)}/oauth2/v2.0/token`

export function createTokens(config: TeamsConfig, signal: AbortSignal): Tokens {
  const { appId, appPassword } = config
  const url = tokenUrlOf(config)
  let current: { token: string; until: number } | undefined
  let fetching: Promise<string> | undefined
  let refused: string | undefined

  // Microsoft's own library (MSAL) cannot be used over plain HTTP, so a test could not prove this step with it.
  async function fetchToken(): Promise<string> {
    const response = await fetch(url, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: appId,
        client_secret: appPassword,
        scope: 'https://api.botframework.com/.default',
      }),
      redirect: 'error',
      signal: AbortSignal.any([signal, AbortSignal.timeout(timeoutMs)]),
    })
    if (response.status === 400 || response.status === 401)
      throw new AuthError('Microsoft refuses the credentials; check appId, appPassword and tenantId.')
    if (!response.ok) throw connectStatusError(response, tokenServiceOf(config))
    const { access_token: token, expires_in: seconds } = (await response.json()) as Record<string, unknown>
    if (typeof token !== 'string' || typeof seconds !== 'number')
      throw new Error('The token service answered without a token.')
    current = { token, until: performance.now() + seconds * 1000 - marginMs }
    return token
  }

  return {
    get: async () => {
      if (current && performance.now() < current.until) return current.token
      fetching ??= fetchToken().finally(() => (fetching = undefined))
      return await fetching
    },
    confirm: () => void (refused = undefined),
    discard(token) {
      // Messages that were sent at once have the same token.
      const isSecond = refused !== undefined && refused !== token
      refused = token
      if (current?.token === token) current = undefined
      return isSecond
    },
  }
}
