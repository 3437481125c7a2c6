// Finds what the import of a module does besides declaring: it leaves something running, or changes the process.
import { subscribe, unsubscribe } from 'node:diagnostics_channel'

export interface SideEffects {
  /** @returns one end of a sentence for each effect since the beginning, with what to do instead */
  list(): string[]
  end(): void
}

/** @param isWatched whether the code that runs at the moment comes from the import */
export function watchSideEffects(isWatched: () => boolean): SideEffects {
  const seen = new Set<string>()
  const note = (effect: string): void => void (isWatched() && seen.add(effect))
  const outgoing = (_message: unknown, channel: string | symbol): void => note(effectsOf[String(channel)] as string)
  for (const channel of Object.keys(effectsOf)) subscribe(channel, outgoing)
  const restore = [process.stdout, process.stderr].map((stream) => noteWrites(stream, () => note(printing)))
  const before = takeSnapshot()
  return {
    list: () => [...new Set([...seen, ...compare(before, takeSnapshot())])],
    end() {
      restore.forEach((undo) => undo())
      for (const channel of Object.keys(effectsOf)) unsubscribe(channel, outgoing)
    },
  }
}

const inFunctions = 'do that in `connect`, `open`, `start` or `execute`'
const effectsOf: Readonly<Record<string, string>> = {
  'net.client.socket': `connects to a server; ${inFunctions}`,
  'undici:request:create': `sends a request; ${inFunctions}`,
  'http.client.request.start': `sends a request; ${inFunctions}`,
  child_process: `starts a process; ${inFunctions}`,
  'child_process.spawn': `starts a process; ${inFunctions}`,
}
const printing = 'prints; use the `log` of the context'

function noteWrites(stream: NodeJS.WriteStream, onWrite: () => void): () => void {
  const { write } = stream
  const noted = function (this: NodeJS.WriteStream, ...args: unknown[]) {
    onWrite()
    return Reflect.apply(write, this, args) as boolean
  } as typeof write
  stream.write = noted
  return () => {
    if (stream.write === noted) stream.write = write
  }
}

interface Snapshot {
  running: readonly string[]
  environment: Readonly<Record<string, string | undefined>>
  globals: ReadonlyMap<string, unknown>
  listeners: ReadonlyMap<string, number>
  directory: string
}

const takeSnapshot = (): Snapshot => ({
  running: process.getActiveResourcesInfo(),
  environment: { ...process.env },
  globals: new Map(Object.getOwnPropertyNames(globalThis).map((name) => [name, valueOf(name)])),
  listeners: new Map(process.eventNames().map((name) => [String(name), process.listenerCount(name)])),
  directory: process.cwd(),
})

/** Node defines some globals when they are first read. */
const valueOf = (name: string): unknown => Object.getOwnPropertyDescriptor(globalThis, name)?.value

function* compare(before: Snapshot, after: Snapshot): Iterable<string> {
  for (const [type, words] of Object.entries(handles)) {
    const count = ({ running }: Snapshot) => running.filter((one) => one === type).length
    if (count(after) > count(before)) yield `leaves ${words} running; ${inFunctions}, and end it in \`close\``
  }
  for (const name of changedKeys(before.environment, after.environment))
    yield `changes the environment variable ${name}; keep settings in the schema \`config\``
  for (const [name, value] of after.globals) {
    if (!before.globals.has(name)) yield `adds the global ${name}; export it from a module`
    else if (before.globals.get(name) !== undefined && !Object.is(before.globals.get(name), value))
      yield `replaces the global ${name}; use an object of its own`
  }
  for (const [name, count] of after.listeners)
    if (count > (before.listeners.get(name) ?? 0))
      yield `listens to "${name}" of the process; end what it holds in \`close\``
  if (before.directory !== after.directory) yield 'changes the working directory; use absolute paths'
}

/** By their names in `process.getActiveResourcesInfo()`. */
const handles: Readonly<Record<string, string>> = {
  ChildProcess: 'a process',
  FSEventWrap: 'a watch of files',
  MessagePort: 'a worker thread',
  PipeServerWrap: 'a server',
  PipeWrap: 'a connection',
  ProcessWrap: 'a process',
  StatWatcher: 'a watch of files',
  TCPServerWrap: 'a server',
  TCPSocketWrap: 'a connection',
  TLSWrap: 'a connection',
  Timeout: 'a timer',
  UDPWrap: 'a socket',
}

const changedKeys = (before: Snapshot['environment'], after: Snapshot['environment']): string[] =>
  [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => before[name] !== after[name])
