// Which addresses of an incoming request may get the bot's token, or be fetched at all.
import type { TeamsConfig } from './config.ts'

/** Hosts of the Bot Framework. `trafficmanager.net` is open to every customer of Azure, so only this name counts. */
const serviceHosts =
  /^(?:smba\.trafficmanager\.net|(?:.+\.)?botframework\.(?:com|azure\.us)|.+\.teams\.microsoft\.(?:com|us))$/

/** Hosts of files that users share. */
const fileHosts = /^.+\.sharepoint\.(?:com|us|cn)$/

export interface Trust {
  isServiceUrl(url: unknown): url is string
  /** Whether a file may be fetched from there, without a token. */
  isFileUrl(url: unknown): url is string
}

/** The origin of `tokenUrl` gets the bot's password, so it is trusted with everything else. */
export function createTrust({ tokenUrl }: Pick<TeamsConfig, 'tokenUrl'>): Trust {
  const ownOrigin = tokenUrl === undefined ? undefined : new URL(tokenUrl).origin
  const isTrusted = (hosts: RegExp, url: unknown): url is string => {
    if (typeof url !== 'string' || !URL.canParse(url)) return false
    const { protocol, hostname, origin, port } = new URL(url)
    return origin === ownOrigin || (protocol === 'https:' && port === '' && hosts.test(hostname))
  }
  return {
    isServiceUrl: (url): url is string => isTrusted(serviceHosts, url),
    isFileUrl: (url): url is string => isTrusted(fileHosts, url),
  }
}
