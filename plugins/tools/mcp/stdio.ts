// The way to an MCP server that is a child process: one message a line, a minimal environment, and nothing of it left
// behind.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Transport } from '@modelcontextprotocol/client'
import { maxMessageBytes } from './limits.ts'
import type { ServerSettings } from './settings.ts'

type Child = ChildProcessByStdio<Writable, Readable, Readable>
type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'deserializeMessage' | 'serializeMessage'>

export interface StdioOptions {
  settings: ServerSettings
  /** Aborts when the process exits: the program is killed then. */
  exit: AbortSignal
  /** What the program says on its standard error. */
  onSaid(text: string): void
}

/**
 * Ours and not the library's, which leaves behind what a server has started, waits long for one that hangs, and copies
 * a long message at every piece of it.
 */
export function createStdioTransport(sdk: Sdk, { settings, exit, onSaid }: StdioOptions): Transport {
  let child: Child | undefined
  const kill = (): void => {
    if (child) killGroup(child, 'SIGKILL')
  }
  const transport: Transport = {
    async start() {
      child = launch(settings)
      exit.addEventListener('abort', kill, { once: true })
      child.stderr.setEncoding('utf8').on('data', (text: string) => onSaid(text.slice(0, longestSaid)))
      for (const part of [child, child.stdin]) part.on('error', (error) => transport.onerror?.(error))
      child.once('exit', () => {
        exit.removeEventListener('abort', kill)
        tidyUp(child)
      })
      child.once('close', () => transport.onclose?.())
      readLines(child.stdout, { onLine: receive, onTooLong: () => void transport.close() })
      await once(child, 'spawn')
    },
    send: (message) =>
      new Promise((resolve, reject) => {
        if (!child) return reject(new Error('the server was not started'))
        return child.stdin.write(sdk.serializeMessage(message), (error) => (error ? reject(error) : resolve()))
      }),
    close: async () => {
      if (child) await end(child)
    },
  }
  return transport

  /** A line that is no message is passed over: some programs log to their standard output. */
  function receive(line: string): void {
    try {
      transport.onmessage?.(sdk.deserializeMessage(line))
    } catch (error) {
      transport.onerror?.(error as Error)
    }
  }
}

/** Longest piece of its standard error that is passed on, in characters. */
const longestSaid = 1000

/** A group of its own, so that what it starts in turn can be ended with it. */
function launch({ command = '', args = [], env = {}, cwd }: ServerSettings): Child {
  return spawn(command, args, { cwd, env: { ...inherited(), ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
}

/** What a program needs to run at all. Everything else may be a secret of the gateway. */
function inherited(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR']
  const { env } = process
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** Most pieces that one message may come in: each costs memory, however short it is. */
const mostPieces = 20_000

function readLines(
  stdout: Readable,
  { onLine, onTooLong }: { onLine: (line: string) => void; onTooLong: () => void },
): void {
  let pieces: Buffer[] = []
  let size = 0
  stdout.on('data', (chunk: Buffer) => {
    let start = 0
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      onLine(Buffer.concat([...pieces, chunk.subarray(start, end)]).toString('utf8'))
      pieces = []
      size = 0
      start = end + 1
    }
    if (start === chunk.length) return
    pieces.push(chunk.subarray(start))
    size += chunk.length - start
    if (size <= maxMessageBytes && pieces.length <= mostPieces) return
    stdout.destroy()
    onTooLong()
  })
}

/**
 * What it has started is ended with it. A process that left the group may still hold its output, which would never end
 * then.
 */
function tidyUp(child: Child | undefined): void {
  if (!child) return
  killGroup(child, 'SIGKILL')
  setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), graceMs).unref()
}

/** How long it may take to end by itself, and then again after it was told to, in milliseconds. */
const graceMs = 500

async function end(child: Child): Promise<void> {
  child.stdin.end()
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (await hasExited(child)) return
    killGroup(child, signal)
  }
  await hasExited(child)
}

async function hasExited(child: Child): Promise<boolean> {
  const isOver = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined
  const over = new AbortController()
  await Promise.race([
    isOver() || once(child, 'exit', { signal: over.signal }),
    delay(graceMs, undefined, { signal: over.signal }),
  ])
  over.abort()
  return isOver()
}

/** Where nobody of the group is left, there is nobody to end. */
function killGroup({ pid }: Child, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // It has ended already.
  }
}
