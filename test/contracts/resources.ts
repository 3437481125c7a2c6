// Finds sockets, processes and timers that were opened since a moment and still keep the process alive.
import { createHook } from 'node:async_hooks'

interface Resource {
  hasRef?(): boolean
}

const types: ReadonlySet<string> = new Set(['Timeout', 'TCPWRAP', 'TLSWRAP', 'UDPWRAP', 'PIPEWRAP', 'PROCESSWRAP'])

/** @returns `open` names what is open, and `stop` ends the tracking */
export function trackResources(): { open(): string[]; stop(): void } {
  const resources = new Map<number, { type: string; resource: Resource }>()
  const hook = createHook({
    init(...[id, type, , resource]: [number, string, number, Resource]) {
      if (types.has(type)) resources.set(id, { type, resource })
    },
    destroy: (id) => void resources.delete(id),
  }).enable()
  return {
    open: () => [...resources.values()].filter(({ resource }) => resource.hasRef?.() ?? false).map(({ type }) => type),
    stop: () => void hook.disable(),
  }
}
