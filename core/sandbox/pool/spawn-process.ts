// Starts a child process: Node without permissions, environment or files, connected to the gateway by two descriptors.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface HeapLimit {
  /** Maximum size of V8's heap, in MB; beyond it the process aborts. */
  heapMb: number
}

/**
 * The process reads the `runner` code from standard input. Descriptor 3 carries the IPC frames; descriptor 4 is the
 * active request file.
 */
export function spawnRunner(
  runner: string,
  limit: HeapLimit,
  activeRequestFd: number,
): { process: ChildProcess; socket: Socket } {
  const [command, args] = withSystemLimits(globalThis.process.execPath, nodeFlags(limit))
  const stdio = ['pipe', 'ignore', 'ignore', 'pipe', activeRequestFd] as const
  const process = spawn(command, args, { env: {}, cwd: tmpdir(), stdio: [...stdio] })
  // A process that could not be started emits an error and may have no streams.
  process.stdin?.on('error', () => undefined).end(runner)
  return { process, socket: process.stdio[3] as Socket }
}

/** No permissions, V8's limits, and code from standard input. */
export const nodeFlags = ({ heapMb }: HeapLimit): string[] => [
  '--no-warnings',
  '--permission',
  '--disable-proto=delete',
  `--max-old-space-size=${heapMb}`,
  '--max-semi-space-size=4',
  '--stack-size=800',
  '--input-type=module',
  '-',
]

/**
 * CPU time after which the kernel ends a child. The gateway recycles children long before that; this limit stops a
 * child that loops after its gateway has died.
 */
const maxCpuSeconds = 900

/** A shell, if there is one, sets the limits that Node cannot. Without core dumps no payload is left on the disk. */
function withSystemLimits(node: string, flags: string[]): [command: string, args: string[]] {
  const shell = '/bin/sh'
  if (!existsSync(shell)) return [node, flags]
  return [shell, ['-c', `ulimit -c 0; ulimit -t ${maxCpuSeconds}; exec "$0" "$@"`, node, ...flags]]
}

export interface ActiveRequestFile {
  fd: number
  /** Id of the request that the child is executing or executed last; 0 before the first. */
  read(): number
  close(): void
}

/**
 * An unlinked file into which the child writes the id of each request that it begins. It tells the gateway which
 * request a child was executing when it stopped responding.
 */
export function openActiveRequestFile(): ActiveRequestFile {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-sandbox-'))
  const fd = openSync(join(folder, 'active-request'), 'wx+', 0o600)
  rmSync(folder, { recursive: true })
  const bytes = Buffer.alloc(4)
  let isOpen = true
  return {
    fd,
    read: () => (isOpen && readSync(fd, bytes, 0, 4, 0) === 4 ? bytes.readUInt32LE() : 0),
    close: () => {
      if (isOpen) closeSync(fd)
      isOpen = false
    },
  }
}
