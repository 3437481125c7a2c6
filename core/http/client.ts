// Who is calling: the client's address behind trusted proxies, and the key under which its failures are counted.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP } from 'node:net'

export interface Client {
  /** The address, for the log. */
  address: string
  /** IPv4 whole, IPv6 by /64: the smallest block that one party holds. */
  key: string
  /** True for a program on this machine that speaks for itself: no header says that somebody else is behind it. */
  local: boolean
}

export type ClientOf = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => Client

/** @param trustedProxies addresses or CIDRs; throws on anything else. */
export function createClientOf(trustedProxies: readonly string[]): ClientOf {
  const trusted = trustedList(trustedProxies)
  return (request) => {
    const found = findClient(request)
    return found.local && !isOwnHost(request.headers.host ?? '') ? { ...found, local: false } : found
  }

  function findClient({ headers, socket }: Parameters<ClientOf>[0]): Client {
    const peer = client(normalAddress(socket.remoteAddress ?? '') ?? 'unknown')
    if (!forwardingHeaders.some((name) => headers[name] !== undefined)) return peer
    if (!trusted(peer.address)) return { ...peer, local: false }
    const hops = [headers['x-forwarded-for'] ?? []]
      .flat()
      .join()
      .split(',')
      .slice(-maxHops)
      .filter((hop) => hop.trim() !== '')
    let { address } = peer
    // Right to left: each trusted hop vouches for the one before it. A hop that is no address ends the walk at the last
    // one known.
    for (const hop of hops.toReversed()) {
      const next = normalAddress(hop)
      if (next === undefined) return { ...client(address), local: false }
      address = next
      if (!trusted(address)) break
    }
    return client(address)
  }
}

/** Longer chains are not followed: the header is the client's to fill. */
const maxHops = 20

const client = (address: string): Client => ({ address, key: keyOf(address), local: isLoopback(address) })

/**
 * Whether a Host header is empty, a loopback name, or an IP address. Any other name leads here only through DNS, and
 * its owner can let the browser of this machine's user call the gateway for a page of his (DNS rebinding).
 */
function isOwnHost(host: string): boolean {
  const name = host.replace(/:\d*$/, '').replace(/^\[(.*)\]$/, '$1')
  return name === '' || isIP(name) !== 0 || /^(?:.+\.)?localhost\.?$/i.test(name)
}

const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

function trustedList(entries: readonly string[]): (address: string) => boolean {
  if (entries.length === 0) return () => false
  const list = new BlockList()
  for (const entry of entries) {
    const [address = '', prefix] = entry.split('/')
    const family = familyOf(address)
    if (prefix === undefined) list.addAddress(address, family)
    else list.addSubnet(address, Number(prefix), family)
  }
  return (address) => isIP(address) !== 0 && list.check(address, familyOf(address))
}

const familyOf = (address: string) => (address.includes(':') ? 'ipv6' : 'ipv4')

/**
 * An address in its plain form, without port, brackets or zone; an IPv4 address mapped into IPv6 is that IPv4 address.
 */
function normalAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text
  const bare = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .replace(/%.*$/, '')
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined
  const groups = groupsOf(bare)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return dotted(groups[6] ?? 0, groups[7] ?? 0)
  return bare.toLowerCase()
}

function keyOf(address: string): string {
  if (isIP(address) !== 6) return address
  return `${groupsOf(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The eight 16-bit groups of an IPv6 address. */
function groupsOf(address: string): number[] {
  const [head = '', tail] = withoutDots(address).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const middle = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...middle, ...right].map((group) => parseInt(group, 16))
}

/** The dotted end that an IPv6 address may have, as two groups. */
function withoutDots(address: string): string {
  if (!address.includes('.')) return address
  const end = address.lastIndexOf(':') + 1
  const [a = 0, b = 0, c = 0, d = 0] = address.slice(end).split('.').map(Number)
  return `${address.slice(0, end)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

const dotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')
