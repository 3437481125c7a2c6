// Runs the command line in the process of the tests, which has loaded the program already: a tenth of the work.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { EventEmitter } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { runProgram } from '../../core/cli/program.ts'
import { program } from '../program.ts'
import { type Done, inFolder } from './command-line.ts'

type Printed = Pick<Done, 'stdout' | 'stderr'>

let last: Promise<unknown> = Promise.resolve()

/**
 * Does what `run` does, one command after another. It is not for commands that go on running, ask, read standard input
 * or end at a signal, and not for plugins that the test changes. Tests run each command as a process, too.
 */
export function runHere(folder: string, args: string[], { env = {} }: { env?: NodeJS.ProcessEnv } = {}): Promise<Done> {
  const done = last.then(() => runAlone(folder, args, env))
  last = done.catch(() => undefined)
  return done
}

async function runAlone(folder: string, args: string[], env: NodeJS.ProcessEnv): Promise<Done> {
  using restore = new DisposableStack()
  const printed = { stdout: '', stderr: '' }
  move(restore, folder, inFolder(folder, env).env)
  const argv = pretendArguments(restore, args)
  forgetListeners(restore)
  collectOutput(restore)
  const exited = catchExit(restore, printed)
  await output.run(printed, () => runProgram(argv))
  const done = await exited
  // The program may exit again, because it has caught what ended the help.
  await turn()
  return done
}

function move(restore: DisposableStack, folder: string, env: NodeJS.ProcessEnv): void {
  const [cwd, umask, variables] = [process.cwd(), process.umask(), { ...process.env }]
  restore.defer(() => {
    process.chdir(cwd)
    process.umask(umask)
    setVariables(variables)
  })
  process.chdir(folder)
  setVariables(env)
}

/** Commands start the program again: the build, as a process. */
function pretendArguments(restore: DisposableStack, args: readonly string[]): readonly string[] {
  const { argv, execArgv } = process
  restore.defer(() => Object.assign(process, { argv, execArgv }))
  return Object.assign(process, { argv: [process.execPath, program, ...args], execArgv: [] }).argv
}

/** The object stays, because the home folder is read from the variables of the process itself. */
function setVariables(variables: NodeJS.ProcessEnv): void {
  for (const name of Object.keys(process.env)) delete process.env[name]
  for (const [name, value] of Object.entries(variables)) if (value !== undefined) process.env[name] = value
}

/** Removes what the command listens to. A process that ends need not. */
function forgetListeners(restore: DisposableStack): void {
  const emitters: [EventEmitter, event: string][] = [
    ...['SIGINT', 'SIGTERM', 'exit'].map((event): [EventEmitter, string] => [process, event]),
    [process.stdout, 'error'],
  ]
  for (const [emitter, event] of emitters) {
    const before = new Set(emitter.listeners(event))
    restore.defer(() => {
      const added = emitter.listeners(event).filter((listener) => !before.has(listener))
      for (const listener of added) emitter.off(event, listener as () => void)
    })
  }
}

/** What the running command has printed. Gateways in this process print, too. */
const output = new AsyncLocalStorage<Printed>()

function collectOutput(restore: DisposableStack): void {
  for (const name of ['stdout', 'stderr'] as const) {
    const { write } = process[name]
    restore.defer(() => void (process[name].write = write))
    process[name].write = (text: string | Uint8Array, ...rest: unknown[]): boolean => {
      const printed = output.getStore()
      if (!printed) return Reflect.apply(write, process[name], [text, ...rest])
      printed[name] += typeof text === 'string' ? text : Buffer.from(text).toString()
      const written = rest.at(-1)
      if (typeof written === 'function') setImmediate(() => untilExit(() => written()))
      return true
    }
  }
}

/** Resolves when the process would end. What is printed later does not count. */
function catchExit(restore: DisposableStack, printed: Printed): Promise<Done> {
  const { exit, exitCode } = process
  restore.defer(() => Object.assign(process, { exit, exitCode }))
  const { promise, resolve } = Promise.withResolvers<Done>()
  process.exit = (code = process.exitCode ?? 0) => {
    resolve({ code, ...printed })
    throw ended
  }
  process.exitCode = undefined
  return promise
}

/** Ends the code that exits, as the end of the process would. */
const ended = new Error('The process has ended.')

function untilExit(work: () => void): void {
  try {
    work()
  } catch (error) {
    if (error !== ended) throw error
  }
}
