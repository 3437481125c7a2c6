// The hosts of a database. With several, the one in use is left when it cannot be reached or is not of the wanted kind.
import type { Client, ClientConfig } from 'pg'

/** What the server of a new connection says of itself. */
export interface ServerState {
  /** It is a standby, or it was set to read only. */
  isReadOnly: boolean
  isStandby: boolean
}

export interface Hosts {
  count: number
  /** True if the gateway may use the server, as `target_session_attrs` says. */
  accepts(state: ServerState): boolean
  /** The number of the host in use. */
  current(): number
  /** Goes on to the next host, unless that has happened since `host` was in use. */
  leave(host: number): void
  /** A client that connects to the host in use. */
  Client: new (config?: ClientConfig) => Client
}

/** Reads `postgres://user@one:5432,two:5432/database`, as libpq does. The driver knows one host. */
export function createHosts(url: string, Driver: new (config?: ClientConfig) => Client): Hosts {
  const urls = listUrls(url)
  let current = 0
  return {
    count: urls.length,
    accepts: accepts[readWanted(url, urls.length)],
    current: () => current,
    leave: (host) => {
      if (current === host) current = (host + 1) % urls.length
    },
    Client: class extends Driver {
      constructor(config: ClientConfig = {}) {
        super({ ...config, connectionString: urls[current] as string })
      }
    },
  }
}

type Wanted = 'any' | 'read-write' | 'primary'

const accepts: Record<Wanted, Hosts['accepts']> = {
  any: () => true,
  'read-write': ({ isReadOnly }) => !isReadOnly,
  primary: ({ isStandby }) => !isStandby,
}

/** libpq's default is `any`, but a gateway that has a choice needs a server that it can write. */
function readWanted(url: string, hosts: number): Wanted {
  const [, value] = /[?&]target_session_attrs=([^&]*)/.exec(url) ?? []
  if (value === undefined) return hosts > 1 ? 'read-write' : 'any'
  return value === 'any' || value === 'primary' ? value : 'read-write'
}

function listUrls(url: string): string[] {
  const start = url.indexOf('://') + 3
  const length = url.slice(start).search(/[/?]|$/)
  const authority = url.slice(start, start + length)
  const hostsAt = authority.lastIndexOf('@') + 1
  const hosts = authority.slice(hostsAt)
  return hosts.includes(',')
    ? hosts.split(',').map((host) => url.slice(0, start + hostsAt) + host + url.slice(start + length))
    : [url]
}
