// Checks a release: packs the package, installs it in an empty folder, runs the first minute of the documentation against
// it, and reads the licenses of everything that is installed. `npm publish` runs it with --publish, which also refuses
// while the package does not say where it comes from.
import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { promisify } from 'node:util'

const run = promisify(execFile)
const root = join(import.meta.dirname, '..')

interface Manifest {
  name: string
  version: string
  license?: string
  dependencies?: Readonly<Record<string, string>>
  optionalDependencies?: Readonly<Record<string, string>>
  peerDependencies?: Readonly<Record<string, string>>
  repository?: unknown
  homepage?: unknown
  bugs?: unknown
}

const readManifest = (folder: string): Manifest =>
  JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as Manifest

/** What is missing before the package may be published, one sentence each. The owner fills the keys in package.json. */
export function findMissing(manifest: Manifest, changelog: string): string[] {
  const isAddress = (value: unknown): boolean => typeof value === 'string' && /^(?:git\+)?https:\/\/\S+$/.test(value)
  const urlOf = (value: unknown): unknown =>
    typeof value === 'object' && value !== null && 'url' in value ? value.url : value
  const keys = (['repository', 'homepage', 'bugs'] as const).filter((key) => !isAddress(urlOf(manifest[key])))
  const { version } = manifest
  const isReleased = changelog.includes(`\n## [${version}] - `)
  return [
    ...keys.map((key) => `package.json has no \`${key}\` with an address that begins with https://; add it.`),
    ...(isReleased ? [] : [`CHANGELOG.md has no section "## [${version}] - <date>"; rename [Unreleased].`]),
  ]
}

/** Licenses that ask for no more than a notice. */
const permissive: ReadonlySet<string> = new Set([
  '0BSD',
  'Apache-2.0',
  'BSD',
  'BlueOak-1.0.0',
  'BSD-2-Clause',
  'BSD-3-Clause',
  'CC0-1.0',
  'ISC',
  'MIT',
  'PSF-2.0',
  'Python-2.0',
  'Unlicense',
])

/** An expression such as `(MIT OR GPL-3.0)` is permissive if one alternative is; `AND` needs both. */
export const isPermissive = (license: string): boolean =>
  license
    .replaceAll(/[()]/g, '')
    .split(' OR ')
    .some((alternative) => alternative.split(' AND ').every((one) => permissive.has(one.trim())))

/** The one exception: an operator installs `baileys` for WhatsApp, and it brings `libsignal`. */
const knownPeers: Readonly<Record<string, string>> = { libsignal: 'GPL-3.0' }

/** The license of each package that a folder has installed, by name and version. */
function listInstalled(folder: string): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (modules: string): void => {
    if (!existsSync(modules)) return
    for (const name of readdirSync(modules)) {
      const path = join(modules, name)
      if (name.startsWith('@')) visit(path)
      else if (!name.startsWith('.') && existsSync(join(path, 'package.json'))) {
        const { name: called, version, license = 'none' } = readManifest(path)
        found.set(`${called} ${version}`, license)
        visit(join(path, 'node_modules'))
      }
    }
  }
  visit(join(folder, 'node_modules'))
  return found
}

/** The packages that the optional peers bring, as they are installed here for the tests. */
function listPeers(): Map<string, string> {
  const found = new Map<string, string>()
  const visit = (name: string, from: string): void => {
    const folder = findPackage(name, from)
    if (folder === undefined) return
    const { version, license = 'none', dependencies = {} } = readManifest(folder)
    if (found.has(`${name} ${version}`)) return
    found.set(`${name} ${version}`, license)
    for (const needed of Object.keys(dependencies)) visit(needed, folder)
  }
  for (const name of Object.keys(readManifest(root).peerDependencies ?? {})) visit(name, root)
  return found
}

function findPackage(name: string, from: string): string | undefined {
  for (let folder = from; ; folder = dirname(folder)) {
    const path = join(folder, 'node_modules', name)
    if (existsSync(join(path, 'package.json'))) return path
    if (dirname(folder) === folder) return undefined
  }
}

function checkLicenses(folder: string): string[] {
  const installed = listInstalled(folder)
  const peers = listPeers()
  const problems = [...installed, ...peers].flatMap(([label, license]) =>
    isPermissive(license) || knownPeers[nameOf(label)] === license ? [] : [`${label} has the license ${license}.`],
  )
  for (const [name, license] of Object.entries(knownPeers)) {
    if ([...installed.keys()].some((label) => nameOf(label) === name))
      problems.push(
        `${name} has the license ${license} and is installed with the package; it must stay an optional peer.`,
      )
    console.log(`${name} has the license ${license}. It is not installed with the package, but with an optional peer.`)
  }
  console.log(`${installed.size} installed packages and ${peers.size} packages of optional peers have known licenses.`)
  return problems
}

const nameOf = (label: string): string => label.slice(0, label.lastIndexOf(' '))

/** Starts the installed command for the first time, and runs the commands that it prints in a shell. */
async function runFirstMinute(folder: string): Promise<void> {
  const gateway = spawn(join(folder, 'node_modules', '.bin', 'svc-gateway'), ['--port', '0'], {
    cwd: folder,
    env: { PATH: process.env['PATH'], HOME: folder },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const ended = once(gateway, 'exit')
  const output = createInterface({ input: gateway.stdout })[Symbol.asyncIterator]()
  try {
    const lines = await readUntil(output, /RUN_ID/)
    const commands = lines.filter((line) => /^ {2}(?:curl|[A-Z_]+=)/.test(line))
    const [wake, agent] = ['/wake ', '/agent '].map((path) => commands.find((line) => line.includes(path)) ?? 'false')
    const shell = async (command: string | undefined): Promise<unknown> => {
      const variables = commands.filter((line) => !line.trimStart().startsWith('curl'))
      const { stdout } = await run('sh', ['-ec', [...variables, command].join('\n')], { timeout: 60_000 })
      return JSON.parse(stdout)
    }
    expectFields(await shell(wake), { ok: true, mode: 'now' })
    await readUntil(output, /^\[console\] .*The backup has failed/)
    expectFields(await shell(agent), { status: 'succeeded' })
    console.log('The first minute works: an event was handled, and an agent has replied.')
  } finally {
    await stop(gateway, ended)
  }
}

async function readUntil(output: AsyncIterator<string>, pattern: RegExp): Promise<string[]> {
  const lines: string[] = []
  for (let next = await output.next(); next.done !== true; next = await output.next()) {
    lines.push(next.value)
    if (pattern.test(next.value)) return lines
  }
  throw new Error(`The gateway ended before it printed ${pattern}:\n${lines.join('\n')}`)
}

function expectFields(answer: unknown, expected: Readonly<Record<string, unknown>>): void {
  const fields = answer as Readonly<Record<string, unknown>>
  for (const [key, value] of Object.entries(expected))
    if (fields[key] !== value)
      throw new Error(`The gateway answered ${JSON.stringify(answer)}, without ${key}: ${String(value)}.`)
}

async function stop(gateway: ChildProcess, ended: Promise<unknown>): Promise<void> {
  gateway.kill('SIGTERM')
  await ended
}

/** @returns the sentences of what is wrong */
async function checkRelease(): Promise<string[]> {
  const folder = mkdtempSync(join(tmpdir(), 'release-'))
  const npm = (...args: string[]) => run('npm', args, { cwd: folder, timeout: 300_000 })
  try {
    writeFileSync(join(folder, 'package.json'), '{ "private": true }\n')
    // Built before, and not by a script of npm that would run this script.
    await run(process.execPath, [join(root, '.ci', 'build.ts'), '--if-stale'], { cwd: root })
    await npm('pack', '--ignore-scripts', '--pack-destination', folder, root)
    const tarball = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? ''
    await npm('install', '--prefer-offline', '--no-audit', '--no-fund', join(folder, tarball))
    await runFirstMinute(folder)
    return checkLicenses(folder)
  } finally {
    rmSync(folder, { recursive: true })
  }
}

if (import.meta.main) {
  const isPublishing = process.argv.includes('--publish')
  const missing = findMissing(readManifest(root), readFileSync(join(root, 'CHANGELOG.md'), 'utf8'))
  if (isPublishing && missing.length > 0) {
    for (const sentence of missing) console.error(sentence)
    process.exit(1)
  }
  for (const sentence of missing) console.log(`Before it can be published: ${sentence}`)
  const problems = await checkRelease()
  for (const sentence of problems) console.error(sentence)
  process.exitCode = problems.length > 0 ? 1 : 0
}
