// The stdio transport of MCP: one message per line, a minimal environment, and no processes left behind.
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable, Writable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import type { Transport } from '@modelcontextprotocol/client'
import { markIntegers } from './exact-integers.ts'
import { maxMessageBytes } from './limits.ts'
import type { ServerSettings } from './settings.ts'

type Child = ChildProcessByStdio<Writable, Readable, Readable>
type Sdk = Pick<typeof import('@modelcontextprotocol/client'), 'deserializeMessage' | 'serializeMessage'>

export interface StdioOptions {
  settings: ServerSettings
  /** Aborts when the process exits: the program is then killed. */
  exit: AbortSignal
  /** Called with the standard error of the program. */
  onSaid(text: string): void
}

/**
 * Replaces the transport of the library, which leaves processes behind that a server has started, waits long for a
 * server that hangs, and copies a long message with every chunk of it.
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

  /** Skips a line that is not a message: some programs log to standard output. */
  function receive(line: string): void {
    try {
      transport.onmessage?.(sdk.deserializeMessage(markIntegers(line)))
    } catch (error) {
      transport.onerror?.(error as Error)
    }
  }
}

/** Longest part of standard error that is passed on, in characters. */
const longestSaid = 1000

/** Starts a process group, so that the processes of the server can be killed with it. */
function launch({ command = '', args = [], env = {}, cwd }: ServerSettings): Child {
  return spawn(command, args, { cwd, env: { ...inherited(), ...env }, stdio: ['pipe', 'pipe', 'pipe'], detached: true })
}

/** What a program needs to run. Every other variable may be a secret of the gateway. */
function inherited(): NodeJS.ProcessEnv {
  const names = ['PATH', 'HOME', 'USER', 'LOGNAME', 'SHELL', 'TERM', 'LANG', 'TZ', 'TMPDIR']
  const { env } = process
  return Object.fromEntries(names.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]]])))
}

/** How many chunks one message may have: each costs memory, however short it is. */
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
 * Ends the whole group. A process that left the group may keep the output open, which would then never end.
 */
function tidyUp(child: Child | undefined): void {
  if (!child) return
  killGroup(child, 'SIGKILL')
  setTimeout(() => [child.stdout, child.stderr].forEach((stream) => stream.destroy()), graceMs).unref()
}

/** How long the server may take to end by itself, and again after SIGTERM. */
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

/** Does nothing if the group has no process left. */
function killGroup({ pid }: Child, signal: NodeJS.Signals): void {
  try {
    if (pid !== undefined) process.kill(-pid, signal)
  } catch {
    // The process has already ended.
  }
}
