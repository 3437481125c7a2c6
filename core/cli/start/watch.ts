// The command `start --watch`: runs the gateway in a child process, and restarts it when a file of a plugin changes.
import { type ChildProcess, spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { firstConfigFile, locateConfig } from '../../config/file/locate.ts'
import { createFileWatch, fingerprint, seeFiles } from '../../config/file/watch.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { readListening } from '../listening.ts'
import type { Probe } from './probe-plugins.ts'
import type { StartOptions } from './start.ts'

/** How long the import of all plugins may take. */
const probeMs = 30_000

export async function watch(options: StartOptions): Promise<void> {
  const file = locateConfig({ option: options.config }) ?? firstConfigFile()
  let gateway: Gateway | undefined
  const stop = stopOnSignal(() => gateway)
  const changes = createChanges(file)
  // The files are read and watched before the gateway reads them, so that no change falls between the two.
  let running = await changes.during(() => probePlugins(file, stop))
  if (stop.aborted) return changes.close()
  let latest = running
  // The gateway itself logs what is wrong with its plugins at the start.
  gateway = startGateway(options)
  while ((await Promise.race([changes.next(), gateway.exited])) === 'changed' && !stop.aborted) {
    const probe = await changes.during(() => probePlugins(file, stop))
    if (stop.aborted) break
    if (probe.problems.length > 0) printProblems(probe, latest)
    else if (!haveSameFiles(probe, running)) {
      print('The plugins have changed; the gateway restarts.')
      // A port that the system has chosen stays the same.
      const port = readListening(file)?.port ?? options.port
      await gateway.end()
      if (stop.aborted) break
      gateway = startGateway({ ...options, ...(port !== undefined && { port }) })
      running = probe
    }
    latest = probe
  }
  changes.close()
  process.exitCode = await gateway.exited
}

const haveSameFiles = (one: Probe, other: Probe): boolean =>
  isDeepStrictEqual([one.plugins, one.files], [other.plugins, other.files])

interface Gateway {
  process: ChildProcess
  /** Resolves with the exit code. */
  exited: Promise<number>
  /** Lets the gateway finish what it can, as a signal does. Resolves when it has ended. */
  end(): Promise<number>
}

function startGateway({ config, port }: StartOptions): Gateway {
  const options = [
    ...(config === undefined ? [] : ['--config', config]),
    ...(port === undefined ? [] : ['--port', port]),
  ]
  const child = spawnCommand(['start-watched', ...options.map(String)], 'inherit')
  const exited = new Promise<number>((resolve) => child.once('exit', (code) => resolve(code ?? 1)))
  return {
    process: child,
    exited,
    end: () => {
      if (child.connected) child.disconnect()
      return exited
    },
  }
}

/** The same program and the same options of Node as this process, with a channel for messages. */
const spawnCommand = (args: readonly string[], output: 'inherit' | 'ignore'): ChildProcess =>
  spawn(process.execPath, [...process.execArgv, process.argv[1] as string, ...args], {
    stdio: [output, output, output, 'ipc'],
  })

/**
 * A terminal also sends Ctrl-C to the gateway. The first signal is not passed on but closes the channel, which a
 * gateway that is already stopping ignores: a second signal would end it at once.
 */
function stopOnSignal(gateway: () => Gateway | undefined): AbortSignal {
  const stop = new AbortController()
  const onSignal = (signal: NodeJS.Signals): void => {
    if (stop.signal.aborted) gateway()?.process.kill(signal)
    else void gateway()?.end()
    stop.abort()
  }
  process.on('SIGINT', onSignal).on('SIGTERM', onSignal)
  process.on('SIGHUP', () => gateway()?.process.kill('SIGHUP'))
  return stop.signal
}

/** Imports the plugins in a new process, because a module that was imported stays in its process. */
async function probePlugins(file: string, stop: AbortSignal): Promise<Probe> {
  const child = spawnCommand(['probe-plugins', '--config', file], 'ignore')
  const end = (): boolean => child.kill('SIGKILL')
  const timer = setTimeout(end, probeMs)
  stop.addEventListener('abort', end, { once: true })
  const probe = await new Promise<Probe>((resolve) => {
    child.once('message', (message) => resolve(message as Probe))
    child.once('exit', () => resolve({ plugins: [], files: {}, problems: [unfinished] }))
  })
  clearTimeout(timer)
  stop.removeEventListener('abort', end)
  return probe
}

const unfinished = `Importing the plugins ended the process, or did not end within ${probeMs / 1000} seconds.`

/** Reports changes of the configuration file and of every file that a plugin has had. */
function createChanges(configFile: string) {
  const files = new Set([configFile])
  let followed = [configFile]
  let change = Promise.withResolvers<'changed'>()
  const watched = createFileWatch({ onChange: () => change.resolve('changed') })
  return {
    next: async (): Promise<'changed'> => {
      const changed = await change.promise
      change = Promise.withResolvers()
      return changed
    },
    /** Follows the files that the probe finds. What changes meanwhile is reported. */
    async during(read: () => Promise<Probe>): Promise<Probe> {
      const before = seeFiles(followed)
      watched.follow(before)
      const probe = await read()
      for (const file of Object.keys(probe.files)) files.add(file)
      // A file that is missing is not known, but its folder changes when it is created.
      const folders = probe.problems.length > 0 ? new Set([...files].map(dirname)) : []
      followed = [...files, ...folders]
      watched.follow(new Map(followed.map((file) => [file, before.get(file) ?? fingerprint(file)])))
      return probe
    },
    close: watched.close,
  }
}

function printProblems({ problems }: Probe, latest: Probe): void {
  if (isDeepStrictEqual(problems, latest.problems)) return
  for (const problem of problems) print(`The gateway keeps the plugins that it runs: ${problem}`)
}

const print = (line: string): void => void process.stderr.write(`${escapeInLine(line)}\n`)
