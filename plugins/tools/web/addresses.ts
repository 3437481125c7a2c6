// Knows which addresses are public, and looks up hosts without returning other addresses.
import { lookup } from 'node:dns'
import { BlockList, isIP, isIPv6, type LookupFunction } from 'node:net'

/**
 * Private, local and reserved ranges, from the IANA registries of special-purpose addresses.
 */
const privateIPv4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  // Azure's host for virtual machines, which also serves credentials.
  '168.63.129.16/32',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]
/** The allocated part of IPv6; the rest is reserved. */
const publicIPv6 = '2000::/3'
/** Special ranges in it: protocol assignments, addresses that contain an IPv4 address, documentation. */
const specialIPv6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

export interface Addresses {
  isPublic(address: string): boolean
  /** Like `dns.lookup`, but fails with a `PrivateAddressError` if any address of the host is not public. */
  lookup: LookupFunction
}

export class PrivateAddressError extends Error {
  override readonly name = 'PrivateAddressError'
}

/** @param resolve looks up all addresses of a host */
export function createAddresses(resolve: typeof lookup = lookup): Addresses {
  const closed = blockList([...privateIPv4, ...specialIPv6])
  const open = blockList([publicIPv6])
  const isPublic = (address: string): boolean => {
    // An address with a zone is link-local.
    if (address.includes('%')) return false
    if (isIPv6(address)) return open.check(address, 'ipv6') && !closed.check(address, 'ipv6')
    return isIP(address) === 4 && !closed.check(address, 'ipv4')
  }
  return {
    isPublic,
    // The socket connects to exactly these addresses: no name is resolved again after the check.
    lookup: (host, { all, ...options }, done) => {
      resolve(host, { ...options, all: true }, (error, found) => {
        if (error) return done(error, '')
        const refused = found.length === 0 || found.some(({ address }) => !isPublic(address))
        if (refused) return done(new PrivateAddressError(`The host ${host} has an address that is not public.`), '')
        const [first] = found
        return all ? done(null, found) : done(null, first?.address ?? '', first?.family)
      })
    },
  }
}

function blockList(ranges: readonly string[]): BlockList {
  const list = new BlockList()
  for (const range of ranges) {
    const [address = '', bits] = range.split('/')
    list.addSubnet(address, Number(bits), isIPv6(address) ? 'ipv6' : 'ipv4')
  }
  return list
}
