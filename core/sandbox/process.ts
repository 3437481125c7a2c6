// How a child comes to be: a Node process without permissions, environment or files, and the black box that it shares
// with the gateway.
import { type ChildProcess, spawn } from 'node:child_process'
import { closeSync, existsSync, mkdtempSync, openSync, readSync, rmSync } from 'node:fs'
import type { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface Heap {
  /** Of V8, in MB; beyond it the process aborts itself. */
  heapMb: number
}

/** `runner` is its code, which comes over standard input; descriptor 3 is the wire, descriptor 4 the black box. */
export function spawnRunner(runner: string, limits: Heap, box: number): { process: ChildProcess; wire: Socket } {
  const [command, args] = withSystemLimits(globalThis.process.execPath, nodeFlags(limits))
  const process = spawn(command, args, { env: {}, cwd: tmpdir(), stdio: ['pipe', 'ignore', 'ignore', 'pipe', box] })
  // A process that could not be started has an error to tell, and perhaps no streams.
  process.stdin?.on('error', () => undefined).end(runner)
  return { process, wire: process.stdio[3] as Socket }
}

/** No permission at all; the limits of V8; code from standard input. */
export const nodeFlags = ({ heapMb }: Heap): string[] => [
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
 * Processor time after which the kernel ends a child. The gateway replaces it long before; this is for a child that
 * loops while its gateway dies.
 */
const maxCpuSeconds = 900

/** Where there is a shell, it sets what Node cannot. Without core dumps no payload is left on the disk. */
function withSystemLimits(node: string, flags: string[]): [command: string, args: string[]] {
  const shell = '/bin/sh'
  if (!existsSync(shell)) return [node, flags]
  return [shell, ['-c', `ulimit -c 0; ulimit -t ${maxCpuSeconds}; exec "$0" "$@"`, node, ...flags]]
}

export interface BlackBox {
  fd: number
  /** The id of the request that is, or was last, at work; 0 before the first. */
  read(): number
  close(): void
}

/** A file without a name, which the child writes the id of its work into and only the gateway reads. */
export function openBlackBox(): BlackBox {
  const folder = mkdtempSync(join(tmpdir(), 'svc-gateway-box-'))
  const fd = openSync(join(folder, 'box'), 'wx+', 0o600)
  rmSync(folder, { recursive: true })
  const bytes = Buffer.alloc(4)
  let open = true
  return {
    fd,
    read: () => (open && readSync(fd, bytes, 0, 4, 0) === 4 ? bytes.readUInt32LE() : 0),
    close: () => {
      if (open) closeSync(fd)
      open = false
    },
  }
}
