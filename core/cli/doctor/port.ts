// Checks that a gateway could listen: the address belongs to this machine, and no other program has the port.
import { isIP, connect } from 'node:net'
import { networkInterfaces } from 'node:os'
import { isLoopback } from './exposure.ts'
import type { Finding } from './finding.ts'
import { withConfig } from './subject.ts'
import { readListening } from '../listening.ts'

export const checkPort = withConfig(async ({ resolved: { config } }, { file }) => {
  const { bind, port } = config.gateway
  if (!isOwnAddress(bind)) return [unknownAddress(bind)]
  // The gateway that runs has the port.
  if (port === 0 || readListening(file) !== undefined) return []
  const host = { '0.0.0.0': '127.0.0.1', '::': '::1' }[bind] ?? bind
  return (await isListening(host, port)) ? [takenPort(host, port)] : []
})

function isOwnAddress(bind: string): boolean {
  if (isIP(bind) === 0 || isLoopback(bind) || bind === '0.0.0.0' || bind === '::') return true
  const own = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? [])
  return own.some(({ address }) => address === bind)
}

const connectMs = 1_000

/** Connects and sends nothing. */
function isListening(host: string, port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ host, port })
  socket.setTimeout(connectMs)
  socket.once('connect', () => resolve(true))
  socket.once('error', () => resolve(false))
  socket.once('timeout', () => resolve(false))
  return promise.finally(() => socket.destroy())
}

const unknownAddress = (bind: string): Finding => ({
  id: 'bind_unknown',
  severity: 'error',
  where: 'gateway.bind',
  problem: `gateway.bind is ${bind}, which is not an address of this machine.`,
  fix: 'Set gateway.bind to "127.0.0.1", "0.0.0.0" or an address of this machine.',
})

const takenPort = (host: string, port: number): Finding => ({
  id: 'port_taken',
  severity: 'error',
  where: 'gateway.port',
  problem: `Port ${port} is used by another program, or by a gateway whose state this user cannot read.`,
  fix: `Stop the program that listens on ${host}:${port} (find it with: ss -ltnp), or set another gateway.port.`,
})
