// Examines a plugin without a configuration: imports it in a process of its own, and collects what is wrong with it.
import { type ChildProcess, spawn } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { PluginFinding } from '../../loader/registry.ts'
import type { ProbeMessage, ProbeReport } from './probe-plugin.ts'

/** How long the import may take. The loader gives up earlier, unless the module blocks what watches it. */
const importMs = 30_000
/** How long the process may take to end after it. */
const endMs = 5_000

/**
 * @param plugin a path as in `plugins`, relative to the working directory
 * @param program the file of the command line. Default: that of this process.
 */
export async function examinePlugin(plugin: string, program = process.argv[1] as string): Promise<ProbeReport> {
  const cache = await mkdtemp(join(tmpdir(), 'svc-gateway-plugin-'))
  try {
    return await collect(plugin, startProbe({ plugin, program, cache }))
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
}

interface Probe {
  plugin: string
  program: string
  cache: string
}

/** With the same options of Node as this process, if it is the command line itself. */
const startProbe = ({ plugin, program, cache }: Probe): ChildProcess =>
  spawn(process.execPath, [...optionsFor(program), program, 'probe-plugin', '--cache', cache, '--', plugin], {
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  })

const optionsFor = (program: string): readonly string[] => (program === process.argv[1] ? process.execArgv : [])

async function collect(plugin: string, child: ChildProcess): Promise<ProbeReport> {
  let report: ProbeReport | undefined
  let hasEnded = false
  const late: PluginFinding[] = []
  const add = (sentence: string): void => void late.push({ severity: 'error', plugin, sentence })
  const name = JSON.stringify(plugin)
  let timer = setTimeout(() => child.kill('SIGKILL'), importMs)
  child.on('message', (message: ProbeMessage) => {
    if (message.type === 'failed') add(`The plugin ${name} failed after its import (${message.problem}); fix it.`)
    if (message.type === 'ended') hasEnded = true
    if (message.type !== 'loaded') return
    ;({ report } = message)
    clearTimeout(timer)
    timer = setTimeout(() => child.kill('SIGKILL'), endMs)
  })
  const printed = text(child.stderr as NodeJS.ReadableStream)
  const [signal] = await new Promise<[NodeJS.Signals | null]>((resolve) =>
    child.once('close', (_code, by) => resolve([by])),
  )
  clearTimeout(timer)
  if (!hasEnded) (await explainEnd(name, { printed, isBlocked: signal === 'SIGKILL' })).forEach(add)
  return { extensions: [], files: [], ...report, findings: [...(report?.findings ?? []), ...late] }
}

interface End {
  /** What the process has printed. */
  printed: Promise<string>
  isBlocked: boolean
}

/** The loader has named a plugin that ends the process. */
async function explainEnd(name: string, { printed, isBlocked }: End): Promise<string[]> {
  if (isBlocked) return [`The plugin ${name} blocks the process after its import; let its loops wait for something.`]
  const lines = (await printed).split('\n').filter((line) => line.startsWith(`The plugin ${name} `))
  return lines.length > 0 ? lines : [`The plugin ${name} ended the process; remove what ends it.`]
}
