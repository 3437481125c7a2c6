// The hosts of a database. With several, the one in use is left when it cannot be reached or cannot be written.
import type { Client, ClientConfig } from 'pg'

export interface Hosts {
  count: number
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
