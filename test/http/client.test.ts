// Tests the client address behind proxies, and its throttle key.
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createClientResolver } from '../../core/http/client.ts'

const clientOf = (trusted: string[], remoteAddress: string, headers: IncomingHttpHeaders = {}) =>
  createClientResolver(trusted)({ headers, socket: { remoteAddress } as Socket })
const forwardedFor = (value: string): IncomingHttpHeaders => ({ 'x-forwarded-for': value })

describe('the client', () => {
  it('is the peer address when no proxy is trusted, whatever a header claims', () => {
    expect(clientOf([], '9.9.9.9', forwardedFor('1.1.1.1'))).toEqual({
      address: '9.9.9.9',
      key: '9.9.9.9',
      isLocal: false,
    })
    expect(clientOf(['10.0.0.0/8'], '9.9.9.9', forwardedFor('1.1.1.1')).address).toBe('9.9.9.9')
  })

  it('is local when a program on this machine sends its own request', () => {
    const local = (remoteAddress: string, headers: IncomingHttpHeaders = {}, trusted: string[] = []) =>
      clientOf(trusted, remoteAddress, headers).isLocal
    for (const address of ['127.0.0.1', '127.1.2.3', '::1', '::ffff:127.0.0.1']) expect(local(address)).toBe(true)
    for (const address of ['9.9.9.9', '10.0.0.1', '128.0.0.1', '::2', '']) expect(local(address)).toBe(false)
    for (const name of ['forwarded', 'x-forwarded-for', 'x-forwarded-host', 'x-forwarded-proto', 'x-real-ip', 'via']) {
      expect(local('127.0.0.1', { [name]: '127.0.0.1' })).toBe(false)
    }
    expect(local('127.0.0.1', forwardedFor('127.0.0.1'), ['127.0.0.1'])).toBe(true)
    expect(local('127.0.0.1', forwardedFor('9.9.9.9'), ['127.0.0.1'])).toBe(false)
  })

  it.each([
    'localhost',
    'LOCALHOST:18789',
    'localhost.',
    'app.localhost:1',
    '127.0.0.1:18789',
    '10.1.2.3',
    '[::1]',
    '[::1]:18789',
    '',
  ])('is local when the Host is %s', (host) => expect(clientOf([], '127.0.0.1', { host }).isLocal).toBe(true))

  it.each([
    'rebound.example',
    'localhost.example:18789',
    'notlocalhost',
    '127.0.0.1.example',
    '127.0.0.1:1:x',
    '[::1].example',
    '2130706433',
    'a b',
  ])('is not local when the Host is %s, which must have been resolved by DNS', (host) => {
    expect(clientOf([], '127.0.0.1', { host }).isLocal).toBe(false)
    expect(clientOf(['127.0.0.1'], '127.0.0.1', { host, ...forwardedFor('127.0.0.1') }).isLocal).toBe(false)
  })

  it('keeps its address when its connection has closed, for the log of the request', () => {
    const socket: { remoteAddress?: string } = { remoteAddress: '9.9.9.9' }
    const resolve = createClientResolver([])
    const request = { headers: {}, socket: socket as Socket }
    expect(resolve(request).address).toBe('9.9.9.9')
    delete socket.remoteAddress
    expect(resolve(request).address).toBe('9.9.9.9')
  })

  it('is the right-most hop that is not trusted', () => {
    const trusted = ['127.0.0.1', '10.0.0.0/8', '2001:db8::/32']
    expect(clientOf(trusted, '127.0.0.1', forwardedFor('6.6.6.6, 1.1.1.1, 10.1.2.3'))).toEqual({
      address: '1.1.1.1',
      key: '1.1.1.1',
      isLocal: false,
    })
    expect(clientOf(trusted, '::ffff:10.0.0.1', forwardedFor('2.2.2.2,2001:db8::5')).address).toBe('2.2.2.2')
    expect(clientOf(trusted, '10.0.0.1', forwardedFor('10.0.0.3, 10.0.0.2')).address).toBe('10.0.0.3')
    expect(clientOf(trusted, '10.0.0.1').address).toBe('10.0.0.1')
    expect(clientOf(trusted, '10.0.0.1', forwardedFor('')).address).toBe('10.0.0.1')
  })

  it('is the last known address when a hop is not an address', () => {
    for (const junk of [
      'unknown',
      '1.1.1.1 x',
      '999.1.1.1',
      '_hidden',
      '"1.1.1.1"',
      '::g',
      '1.1.1',
      '1'.repeat(5_000),
    ]) {
      expect(clientOf(['127.0.0.1', '10.0.0.2'], '127.0.0.1', forwardedFor(`8.8.8.8, ${junk}, 10.0.0.2`))).toEqual({
        address: '10.0.0.2',
        key: '10.0.0.2',
        isLocal: false,
      })
    }
  })

  it('may have a port, brackets or a zone', () => {
    const address = (hop: string) => clientOf(['127.0.0.1'], '127.0.0.1', forwardedFor(hop)).address
    expect(
      ['1.1.1.1:80', ' 1.1.1.1 ', '::FFFF:1.1.1.1', '::ffff:101:101', '0:0:0:0:0:ffff:1.1.1.1'].map(address),
    ).toEqual(Array(5).fill('1.1.1.1'))
    expect(['[2001:DB8::1]:443', '[2001:db8::1]', '2001:db8::1%eth0'].map(address)).toEqual(
      Array(3).fill('2001:db8::1'),
    )
  })

  it('has a /64 as its key in IPv6', () => {
    const key = (address: string) => clientOf([], address).key
    expect(key('2001:db8:1:2:3:4:5:6')).toBe('2001:db8:1:2::/64')
    expect(key('2001:db8:1:2::')).toBe('2001:db8:1:2::/64')
    expect(key('2001:db8:1:2:ffff:ffff:255.255.255.255')).toBe('2001:db8:1:2::/64')
    expect(key('2001:db8:1:3::1')).not.toBe(key('2001:db8:1:2::1'))
    expect(key('::1')).toBe('0:0:0:0::/64')
    expect(key('fe80::1%eth0')).toBe('fe80:0:0:0::/64')
  })

  it('is searched only in the last hops of a long chain', () => {
    expect(clientOf(['10.0.0.0/8'], '10.0.0.1', forwardedFor(`1.1.1.1${', 10.0.0.2'.repeat(1_000)}`)).address).toBe(
      '10.0.0.2',
    )
  })

  it('cannot be resolved when a trusted proxy is not an address', () => {
    for (const entry of ['proxy', '10.0.0.0/40', '', '1.1.1.1/x']) expect(() => createClientResolver([entry])).toThrow()
  })
})
