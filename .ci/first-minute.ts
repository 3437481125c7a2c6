// Records the first minute with a new gateway in a real terminal: the first start and the two requests that it
// suggests. Run as a program, it draws docs/first-minute.svg.
import { execFile, spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { renderPicture } from './terminal-picture.ts'

const root = join(import.meta.dirname, '..')
const title = 'The first start of svc-gateway prints two curl commands; the agent answers both.'
export const picture = join(root, 'docs', 'first-minute.svg')

/** The lines of the picture, with the colours of the terminal. What differs each time is replaced. */
export async function recordFirstMinute(): Promise<string[]> {
  const dir = realpathSync(mkdtempSync(join(tmpdir(), 'first-minute-')))
  try {
    return replaceVariable(await record(dir), dir)
  } finally {
    rmSync(dir, { recursive: true })
  }
}

async function record(dir: string): Promise<string[]> {
  const terminal = openTerminal(dir)
  try {
    await terminal.until(/RUN_ID -H [^\n]*\n/)
    const start = terminal.lines().filter((line) => !isLog(line) || line.includes('started'))
    const [wake = '', agent = ''] = start.filter((line) => line.startsWith('  curl ')).map((line) => line.trim())
    const seen = terminal.lines().length
    const event = await runInShell(wake)
    await terminal.until(/Received: The backup has failed\.\r?\n[^\n]*\n/)
    const reaction = terminal
      .lines()
      .slice(seen)
      .filter((line) => /^(\[console\]| {4})/.test(line))
    const run = await runInShell(agent)
    const note = (text: string): string => `\u001B[90m# ${text}\u001B[39m`
    const prompt = (command: string): string => `\u001B[32m$\u001B[39m ${command}`
    return [
      prompt('npm start'),
      ...start,
      '',
      note('In a second terminal'),
      prompt(wake),
      event,
      '',
      note('In the first terminal, on the console channel'),
      ...reaction.slice(0, 2),
      '',
      note('In the second terminal'),
      prompt(agent),
      run,
    ]
  } finally {
    await terminal.close()
  }
}

const isLog = (line: string): boolean => /^\[\d\d:\d\d:\d\d\]/.test(line)

/** Starts the gateway in a terminal of the program `script`. */
function openTerminal(dir: string) {
  const command = `'${process.execPath}' '${join(root, 'dist', 'main.js')}' --port 0`
  const env = { PATH: process.env['PATH'], HOME: dir, TERM: 'xterm-256color' }
  const child = spawn('script', ['-qefc', command, '/dev/null'], { cwd: dir, env, stdio: ['ignore', 'pipe', 'ignore'] })
  const exited = new Promise((resolve) => child.once('exit', resolve))
  let printed = ''
  let onPrint = (): void => undefined
  child.stdout.on('data', (chunk: Buffer) => {
    printed += chunk.toString()
    onPrint()
  })
  return {
    // The terminal ends lines with both characters; a colour may end after its line.
    lines: () => printed.replaceAll('\r', '').replaceAll('\n\u001B[39m', '\u001B[39m\n').trimEnd().split('\n'),
    until: (pattern: RegExp) =>
      new Promise<void>((resolve, reject) => {
        onPrint = () => pattern.test(printed) && resolve()
        void exited.then(() => reject(new Error(`The gateway ended:\n${printed}`)))
        onPrint()
      }),
    close: async () => {
      const { pid } = JSON.parse(readFileSync(join(dir, 'state', 'gateway.json5.listening'), 'utf8')) as { pid: number }
      process.kill(pid, 'SIGTERM')
      await exited
    },
  }
}

const runInShell = async (command: string): Promise<string> =>
  (await promisify(execFile)('sh', ['-c', command])).stdout.trim()

/** Tokens, ids, times and places, each by an example. */
function replaceVariable(lines: readonly string[], dir: string): string[] {
  const [hookToken = '', gatewayToken = ''] = [/hooks\/wake/, /\/runs\//].map(
    (path) => /Bearer ([\w-]+)/.exec(lines.find((line) => path.test(line) && line.includes('Bearer')) ?? '')?.[1],
  )
  return lines.map((line) =>
    line
      .replaceAll(hookToken, 'your-hook-token')
      .replaceAll(gatewayToken, 'your-gateway-token')
      .replace(/#code=[\w.-]+/, '#code=a-one-time-code')
      .replaceAll(dir, '/home/me/svc-gateway')
      .replaceAll(/127\.0\.0\.1:\d+/g, '127.0.0.1:18789')
      .replaceAll(/[\da-f]{8}-[\da-f]{4}-7[\da-f]{3}-[\da-f]{4}-[\da-f]{12}/g, '01a1f8a8-feda-7d4e-a48e-f9bc37c0e9da')
      .replace(/^\[\d\d:\d\d:\d\d\]/, '[11:13:08]')
      .replace(/"version":"[^"]+"/, '"version":"1.0.0"'),
  )
}

if (import.meta.main) writeFileSync(picture, renderPicture(await recordFirstMinute(), title))
