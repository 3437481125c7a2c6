// Builds dist/. With --if-stale only when a source is newer: then `npm start` runs what the sources say, without Node
// stripping types at every start.
import { execFileSync } from 'node:child_process'
import { copyFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..')
const stamp = join(root, 'dist', '.built')
const sources = [
  'core',
  'channels',
  'plugins',
  'test/contracts',
  'test/contracts.ts',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
  '.ci/tsconfig.json',
]

function build(): void {
  rmSync(join(root, 'dist'), { recursive: true, force: true })
  run('tsc', '-p', '.ci')
  // TypeBox is seven hundred small files, which cost a tenth of a second at every start; folded into ours they cost
  // nothing.
  run(
    'rolldown',
    'dist/core/typebox.js',
    '--file',
    'dist/core/typebox.js',
    '--format',
    'esm',
    '--platform',
    'node',
    '--log-level',
    'silent',
  )
  // A sandbox process is given its code as one text, and may read no file. SES is in it, so its licence goes along.
  run(
    'rolldown',
    'dist/core/sandbox/runner.js',
    '--file',
    'dist/core/sandbox/runner.js',
    '--format',
    'esm',
    '--platform',
    'node',
    '--log-level',
    'silent',
  )
  copyFileSync(join(root, 'node_modules', 'ses', 'LICENSE'), join(root, 'dist', 'core', 'sandbox', 'LICENSE-ses'))
  writeFileSync(stamp, '')
}

function run(command: string, ...args: string[]): void {
  try {
    execFileSync(join(root, 'node_modules', '.bin', command), args, {
      cwd: root,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
  } catch (error) {
    const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
    process.stderr.write(
      missing
        ? `${command} is not installed; run "npm ci", with the development packages.\n`
        : `The build failed in ${command}.\n`,
    )
    process.exit(1)
  }
}

/** A folder counts too: its time changes when a file leaves it. */
function newestIn(path: string): number {
  const { mtimeMs } = statSync(path)
  const inside = statSync(path).isDirectory() ? readdirSync(path).map((name) => newestIn(join(path, name))) : []
  return Math.max(mtimeMs, ...inside)
}

function isStale(): boolean {
  const built = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0
  return sources.some((source) => newestIn(join(root, source)) > built)
}

if (!process.argv.includes('--if-stale') || isStale()) build()
