// Runs npm in the configuration directory. Scripts of packages never run.
import { spawn } from 'node:child_process'
import { existsSync, statSync } from 'node:fs'
import { resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import { fieldsOf, listOf, textOf } from '../../kit/shapes.ts'
import { CommandError } from '../../plugin/errors.ts'

interface NpmPackage {
  name: string
  version: string
}

/**
 * What a person may name: a package of the registry, with a version or a range, or the path of a packed package or of a
 * folder with one, relative to the working directory.
 */
export function readPackageSpec(text: string): string {
  if (registrySpec.test(text) && !text.endsWith('.tgz')) return text
  const path = resolve(text)
  const isPath = existsSync(path) && (text.endsWith('.tgz') || statSync(path).isDirectory())
  if (isPath) return path
  throw new CommandError(
    `"${text}" is not the name of an npm package, such as svc-gateway-plugin-dice@1.0.0, and there is no such .tgz file ` +
      'or folder.',
  )
}

const registrySpec = /^(?:@[a-z0-9~][\w.~-]*\/)?[a-z0-9~][\w.~-]*(?:@[\w.^~><=*|+ -]+)?$/

/** The name and the version of a package, which is not installed. */
export async function describeNpmPackage(dir: string, spec: string): Promise<NpmPackage> {
  const text = await runNpm(dir, ['pack', spec, '--dry-run', '--json'])
  const listed: unknown = JSON.parse(text)
  const [found] = Array.isArray(listed) ? listed : Object.values(listed as object)
  const { name, version } = (found ?? {}) as Partial<NpmPackage>
  if (typeof name !== 'string' || typeof version !== 'string')
    throw new CommandError(`npm does not say which package "${spec}" is.`)
  return { name, version }
}

/** The files of the package that `npm publish` would upload, relative to its folder. */
export async function listPackedFiles(folder: string): Promise<string[]> {
  const listed: unknown = JSON.parse(await runNpm(resolve(folder), ['pack', '--dry-run', '--json']))
  const [found] = Array.isArray(listed) ? (listed as unknown[]) : Object.values(listed as object)
  return listOf(fieldsOf(found)['files']).flatMap((file) => textOf(fieldsOf(file)['path']) ?? [])
}

export const installPackage = (dir: string, spec: string): Promise<string> => runNpm(dir, ['install', spec])

export const uninstallPackage = (dir: string, name: string): Promise<string> => runNpm(dir, ['uninstall', name])

/** `--prefix` keeps npm in the folder, even if a folder above has a package. */
async function runNpm(dir: string, [command = '', ...args]: readonly string[]): Promise<string> {
  const options = ['--prefix', dir, '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  const npm = spawn('npm', [command, ...options, ...args], { cwd: dir, stdio: ['ignore', 'pipe', 'pipe'] })
  const [output, errors]: [Buffer[], Buffer[]] = [[], []]
  npm.stdout.on('data', (chunk: Buffer) => output.push(chunk))
  npm.stderr.on('data', (chunk: Buffer) => errors.push(chunk))
  const ended = Promise.withResolvers<number | null>()
  npm.once('error', ended.reject).once('close', ended.resolve)
  const code = await ended.promise.catch((error: NodeJS.ErrnoException) => {
    throw new CommandError(
      error.code === 'ENOENT' ? 'npm was not found; install it, or add its folder to PATH.' : error.message,
    )
  })
  if (code === 0) return Buffer.concat(output).toString()
  const text = stripVTControlCharacters(Buffer.concat(errors).toString())
  throw new CommandError(describeMissing(text) ?? `npm ${command} failed: ${describeNpmError(text)}`)
}

/** `npm error code E404 … npm error 404  'dice@*' is not in this registry.` */
function describeMissing(text: string): string | undefined {
  if (!/^npm error code E404$/m.test(text)) return undefined
  const [, name] = /^npm error 404 [^'\n]*'(@?[^'@\n]+)/m.exec(text) ?? []
  return (
    name &&
    `The registry of npm has no package "${name}" that you may read. Check the spelling; for a private registry, set it ` +
      'and its token in .npmrc; or give the path of a .tgz file or of a folder.'
  )
}

/** `npm error code E404\nnpm error 404 Not Found - GET …` → its second line, which says more. */
function describeNpmError(text: string): string {
  const lines = text.split('\n').flatMap((line) => /^npm error (?:\w+ )??(.+)$/i.exec(line.trim())?.[1] ?? [])
  const first = lines.find((line) => !line.startsWith('code ')) ?? 'it does not say why'
  return `${first.slice(0, 300).replace(/\.$/, '')}.`
}
