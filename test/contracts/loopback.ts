// A trap for tests: connections to anything but this machine are refused and reported.
import { Socket } from 'node:net'

const loopback: ReadonlySet<string> = new Set(['127.0.0.1', '::1', 'localhost'])

/** @returns the hosts that somebody tried to reach, and a function that removes the trap */
export function trapOutsideConnections(): { escapes: string[]; remove(): void } {
  const escapes: string[] = []
  const { connect } = Socket.prototype
  Socket.prototype.connect = function (this: Socket, ...args: unknown[]) {
    const host = hostOf(args)
    if (host === undefined || loopback.has(host)) return Reflect.apply(connect, this, args) as Socket
    escapes.push(host)
    throw new Error(`a test tried to connect to ${host}`)
  }
  return { escapes, remove: () => void (Socket.prototype.connect = connect) }
}

/** `connect(options)`, `connect(port, host)` or, from `net.connect`, `connect([options])`. A path has no host. */
function hostOf([first, second]: readonly unknown[]): string | undefined {
  if (Array.isArray(first)) return hostOf(first)
  if (typeof first === 'object' && first !== null) return (first as { host?: string }).host
  return typeof second === 'string' ? second : undefined
}
