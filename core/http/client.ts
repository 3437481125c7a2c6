// Resolves the client's address behind trusted proxies, and the key under which its failed attempts are counted.
import type { IncomingMessage } from 'node:http'
import { BlockList, isIP, type Socket } from 'node:net'

export interface Client {
  /** The address, for the log. */
  address: string
  /** The IPv4 address, or the /64 of an IPv6 address: the smallest block that one party usually has. */
  key: string
  /** True for a program on this machine, unless a header shows that it forwards the request of another client. */
  isLocal: boolean
}

export type ResolveClient = (request: Pick<IncomingMessage, 'headers' | 'socket'>) => Client

interface Origin {
  address: string
  /** True when a header shows that the request is forwarded, and the forwarder is not trusted to say for whom. */
  isForwarded: boolean
}

/** @param trustedProxies Addresses or CIDRs. Throws on anything else. */
export function createClientResolver(trustedProxies: readonly string[]): ResolveClient {
  const isTrusted = createTrustCheck(trustedProxies)
  const peers = new WeakMap<Socket, string>()
  return (request) => {
    const { address, isForwarded } = findOrigin(request)
    const isLocal = !isForwarded && isLoopback(address) && isOwnHost(request.headers.host ?? '')
    return { address, key: throttleKeyOf(address), isLocal }
  }

  function findOrigin({ headers, socket }: Parameters<ResolveClient>[0]): Origin {
    let address = peerOf(socket)
    if (!forwardingHeaders.some((name) => headers[name] !== undefined)) return { address, isForwarded: false }
    if (!isTrusted(address)) return { address, isForwarded: true }
    const hops = [headers['x-forwarded-for'] ?? []]
      .flat()
      .join()
      .split(',')
      .slice(-maxHops)
      .filter((hop) => hop.trim() !== '')
    // Right to left: each trusted proxy vouches for the hop before it. A hop that is not an address ends the search at
    // the last known address.
    for (const hop of hops.toReversed()) {
      const next = normalizeAddress(hop)
      if (next === undefined) return { address, isForwarded: true }
      address = next
      if (!isTrusted(address)) break
    }
    return { address, isForwarded: false }
  }

  /** Remembers the address: a connection keeps it for all its requests, but loses it when it closes. */
  function peerOf(socket: Socket): string {
    const known = peers.get(socket)
    if (known !== undefined) return known
    const address = normalizeAddress(socket.remoteAddress ?? '') ?? 'unknown'
    peers.set(socket, address)
    return address
  }
}

/** Longer chains are not followed, because the client controls the header. */
const maxHops = 20

/**
 * Returns whether a Host header is empty, a loopback name, or an IP address. Any other name resolves to this machine
 * only through DNS: its owner could make the browser of a local user call the gateway (DNS rebinding).
 */
const isOwnHost = (host: string): boolean => ownHost.test(host)

const ownHost = /^(?:(?:\d{1,3}\.){3}\d{1,3}|\[[\da-f:.]+\]|(?:.+\.)?localhost\.?)?(?::\d*)?$/i

const forwardingHeaders = ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']

const isLoopback = (address: string): boolean => address === '::1' || address.startsWith('127.')

function createTrustCheck(entries: readonly string[]): (address: string) => boolean {
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

/** Removes port, brackets and zone, and converts an IPv4-mapped IPv6 address to IPv4. Undefined: not an address. */
function normalizeAddress(text: string): string | undefined {
  if (isIP(text) === 4) return text
  const [bare = ''] = text
    .trim()
    .replace(/^\[([^\]]*)\](?::\d+)?$/, '$1')
    .replace(/^([\d.]+):\d+$/, '$1')
    .split('%', 1)
  if (isIP(bare) !== 6) return isIP(bare) === 4 ? bare : undefined
  const groups = parseGroups(bare)
  if (groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xffff)
    return formatDotted(groups[6] ?? 0, groups[7] ?? 0)
  return bare.toLowerCase()
}

function throttleKeyOf(address: string): string {
  if (!address.includes(':')) return address
  return `${parseGroups(address)
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** Returns the eight 16-bit groups of an IPv6 address. */
function parseGroups(address: string): number[] {
  const [head = '', tail] = replaceDottedEnd(address).split('::')
  const left = head === '' ? [] : head.split(':')
  const right = tail === undefined || tail === '' ? [] : tail.split(':')
  const middle = tail === undefined ? [] : Array<string>(8 - left.length - right.length).fill('0')
  return [...left, ...middle, ...right].map((group) => parseInt(group, 16))
}

/** Converts the dotted IPv4 ending of an IPv6 address, if there is one, to two groups. */
function replaceDottedEnd(address: string): string {
  if (!address.includes('.')) return address
  const end = address.lastIndexOf(':') + 1
  const [a = 0, b = 0, c = 0, d = 0] = address.slice(end).split('.').map(Number)
  return `${address.slice(0, end)}${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}`
}

const formatDotted = (high: number, low: number): string => [high >> 8, high & 255, low >> 8, low & 255].join('.')
