// Runs the command line in a terminal, and presses keys in it.
import { spawn } from 'node:child_process'
import { stripVTControlCharacters } from 'node:util'
import { onTestFinished } from 'vitest'
import { program } from '../program.ts'

export const keys = { enter: '\r', up: '\x1b[A', down: '\x1b[B', tab: '\t', space: ' ', ctrlC: '\x03' }

export interface Terminal {
  /** Resolves when this text appears, after what earlier calls have found. */
  see(text: string): Promise<void>
  press(...typed: string[]): void
  /** Everything that was printed so far, without escape sequences. */
  screen(): string
  /** Resolves with the exit code. */
  ended: Promise<number | null>
}

/** How long a text may take to appear. It is long, because the error shows the screen. */
const limitMs = 20_000

/** Runs `svc-gateway <args>` in a folder that is also its home. Arguments must not contain quotes. */
export function openTerminal(folder: string, args: readonly string[], env: NodeJS.ProcessEnv = {}): Terminal {
  const command = [process.execPath, program, ...args].map((word) => `'${word}'`).join(' ')
  const child = spawn('script', ['-qefc', `stty cols 200 rows 60; exec ${command}`, '/dev/null'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], XDG_CACHE_HOME: process.env['XDG_CACHE_HOME'], HOME: folder, ...env },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const printed = new EventTarget()
  let text = ''
  let seen = 0
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    text += chunk
    printed.dispatchEvent(new Event('change'))
  })
  const screen = () => stripVTControlCharacters(text)
  const ended = new Promise<number | null>((resolve) => child.once('close', resolve))
  onTestFinished(async () => {
    child.kill('SIGKILL')
    await ended
  })
  const see = async (wanted: string): Promise<void> => {
    const changes = Promise.withResolvers<void>()
    const look = () => {
      const found = screen().indexOf(wanted, seen)
      if (found === -1) return
      seen = found + wanted.length
      changes.resolve()
    }
    printed.addEventListener('change', look)
    void ended.then(() => changes.reject(new Error(`The command ended before "${wanted}":\n${screen()}`)))
    const limit = setTimeout(() => changes.reject(new Error(`"${wanted}" did not appear:\n${screen()}`)), limitMs)
    look()
    await changes.promise.finally(() => clearTimeout(limit)).finally(() => printed.removeEventListener('change', look))
  }
  return { see, screen, ended, press: (...typed) => void child.stdin.write(typed.join('')) }
}
