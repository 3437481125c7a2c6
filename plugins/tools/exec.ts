// A tool that runs a command in the workspace: with a minimal environment, within limits, and without leaving processes
// behind.
import { type ChildProcess, spawn } from 'node:child_process'
import { defineTool, defineToolset, type Static, Type } from 'svc-gateway/plugin'

const Config = Type.Object(
  {
    timeoutSeconds: Type.Number({
      exclusiveMinimum: 0,
      maximum: 86_400,
      default: 30,
      description: 'Longest duration of one command, in seconds. A call may set a shorter one.',
    }),
    maxOutput: Type.Integer({
      minimum: 1,
      maximum: 1_000_000,
      default: 50_000,
      description: 'How many bytes of each output are kept; the rest is discarded.',
    }),
  },
  { description: 'Limits of commands in the workspace.' },
)

const Args = Type.Object(
  {
    command: Type.String({
      pattern: String.raw`\S`,
      maxLength: 100_000,
      description: 'The command, for /bin/sh.',
    }),
    timeoutSeconds: Type.Optional(
      Type.Number({ exclusiveMinimum: 0, description: 'A shorter time limit, in seconds.' }),
    ),
  },
  { additionalProperties: false },
)

export default defineToolset<Static<typeof Config>>({
  name: 'exec',
  description: 'Commands in the workspace.',
  config: Config,
  expected: () => [{ name: 'exec', group: 'runtime' }],
  async open(config) {
    const exec = defineTool<Static<typeof Args>>({
      name: 'exec',
      external: 'none',
      group: 'runtime',
      optIn: true,
      description:
        'Runs a shell command in the workspace and returns its output. Processes that it leaves running are killed.',
      args: Args,
      effects: ['reads-private', 'sends'],
      async execute({ command, timeoutSeconds = Infinity }, { workspace, signal }) {
        const seconds = Math.min(timeoutSeconds, config.timeoutSeconds)
        return runCommand(command, {
          cwd: await workspace.path(),
          ms: seconds * 1000,
          maxOutput: config.maxOutput,
          signal,
        })
      },
    })
    return { tools: [exec], close: async () => undefined }
  },
})

interface Limits {
  cwd: string
  ms: number
  maxOutput: number
  signal: AbortSignal
}

async function runCommand(command: string, { cwd, ms, maxOutput, signal }: Limits) {
  signal.throwIfAborted()
  const child = spawn('/bin/sh', ['-c', command], {
    cwd,
    env: environment(cwd),
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = [collect(child.stdout, maxOutput), collect(child.stderr, maxOutput)]
  let timedOut = false as boolean
  const timer = setTimeout(() => {
    timedOut = true
    killGroup(child)
  }, ms)
  const stop = () => killGroup(child)
  signal.addEventListener('abort', stop, { once: true })
  try {
    const { code, killedBy } = await ended(child)
    return {
      exitCode: code,
      ...(killedBy && { signal: killedBy }),
      ...(timedOut && { timedOut }),
      stdout: stdout(),
      stderr: stderr(),
    }
  } finally {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
  }
}

/** The environment of the gateway contains secrets, so a command gets none of it. */
const environment = (cwd: string): NodeJS.ProcessEnv => ({
  PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin',
  HOME: cwd,
  LANG: 'C.UTF-8',
})

/** A process that left the group may keep the pipes open; they are closed after this time. */
const pipesMs = 1_000

/** After the command has ended, its background processes are killed, too: the pipes close only then. */
async function ended(child: ChildProcess): Promise<{ code: number | null; killedBy: NodeJS.Signals | null }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ code: number | null; killedBy: NodeJS.Signals | null }>()
  child.once('error', reject)
  child.once('close', (code: number | null, killedBy: NodeJS.Signals | null) => resolve({ code, killedBy }))
  child.once('exit', () => {
    killGroup(child)
    setTimeout(() => [child.stdout, child.stderr].forEach((pipe) => pipe?.destroy()), pipesMs).unref()
  })
  return promise
}

/** Kills the whole group at once, so that no process of it can start another one. */
function killGroup({ pid }: ChildProcess): void {
  if (pid === undefined) return
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // The group has no process left.
  }
}

/** Keeps the first bytes. It reads the rest as well, so that the command does not block on a full pipe. */
function collect(stream: NodeJS.ReadableStream, most: number): () => string {
  const kept: Buffer[] = []
  let [length, total] = [0, 0]
  stream.on('data', (chunk: Buffer) => {
    total += chunk.length
    if (length >= most) return
    kept.push(chunk.subarray(0, most - length))
    length += Math.min(chunk.length, most - length)
  })
  return () => {
    const text = Buffer.concat(kept).toString('utf8')
    return total > most ? `${text}\n[cut: ${total} bytes in all]` : text
  }
}
