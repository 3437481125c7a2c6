// Finds sockets, processes and timers that were opened since a moment and still keep the process alive.
import { createHook } from 'node:async_hooks'
import { watchSockets } from './outside.ts'

interface Resource {
  hasRef?(): boolean
}

const types: ReadonlySet<string> = new Set(['Timeout', 'TCPWRAP', 'TLSWRAP', 'UDPWRAP', 'PIPEWRAP', 'PROCESSWRAP'])

const socketTypes: ReadonlySet<string> = new Set(['TCPWRAP', 'TLSWRAP', 'PIPEWRAP'])

/**
 * @param options `ofServers: false` leaves out the sockets of servers in this process
 * @returns `open` names what is open, and `stop` ends the tracking
 */
export function trackResources({ ofServers = true } = {}): { open(): string[]; stop(): void } {
  const clients = watchSockets()
  const resources = new Map<number, { type: string; resource: Resource }>()
  const hook = createHook({
    init(...[id, type, , resource]: [number, string, number, Resource]) {
      if (types.has(type)) resources.set(id, { type, resource })
    },
    destroy: (id) => void resources.delete(id),
  }).enable()
  const counts = ({ type, resource }: { type: string; resource: Resource }) =>
    (resource.hasRef?.() ?? false) && (ofServers || !socketTypes.has(type) || clients.isClient(resource))
  return {
    open: () => [...resources.values()].filter(counts).map(({ type }) => type),
    stop() {
      hook.disable()
      clients.stop()
    },
  }
}
