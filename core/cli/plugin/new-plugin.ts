// The command `plugin new`: writes a package with an extension, its tests and a README, from the templates of its kind.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { loadExtensions } from '../../loader/registry.ts'
import { nameFault } from '../../loader/verify.ts'
import type { Extension } from '../../plugin.ts'
import { CommandError } from '../command-error.ts'
import { describePackage } from './package-json.ts'
import { readTemplates } from './templates.ts'

type Kind = Extension['kind']

export async function createPlugin(name: string, { kind, dir }: { kind: Kind; dir?: string }): Promise<void> {
  await checkName(kind, name)
  const packageName = `svc-gateway-plugin-${name}`
  const folder = resolve(dir ?? packageName)
  const files = new Map([
    ['package.json', describePackage({ kind, packageName })],
    ...readTemplates(kind, { name, packageName }),
  ])
  createFolder(folder)
  for (const [path, text] of files) writeNew(join(folder, path), text)
  process.stdout.write(describeResult(folder, [...files.keys()]))
}

/** The gateway would refuse the plugin, so it is said before anything is written. */
async function checkName(kind: Kind, name: string): Promise<void> {
  const fault = nameFault(kind, name) ?? (/^[a-z]/.test(name) ? undefined : 'its name must begin with a letter')
  if (fault !== undefined) throw new CommandError(`The ${kind} cannot be called "${name}": ${fault}.`)
  const extensions = await loadExtensions({ plugins: [], dir: process.cwd(), log: silent })
  extensions.close()
  if ([...extensions.sources.keys()].some((one) => one.kind === kind && namesOf(one).includes(name)))
    throw new CommandError(`The ${kind} cannot be called "${name}": a built-in ${kind} has that name; use another one.`)
}

const namesOf = (extension: Extension): readonly string[] =>
  extension.kind === 'channel' ? [extension.name, ...(extension.aliases ?? [])] : [extension.name]

function createFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true })
    if (readdirSync(folder).length === 0) return
  } catch (error) {
    throw new CommandError(`--dir: ${folder} cannot be created (${(error as NodeJS.ErrnoException).code}).`)
  }
  throw new CommandError(`${folder} is not empty; name another folder with --dir.`)
}

function writeNew(file: string, text: string): void {
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text, { flag: 'wx' })
}

function describeResult(folder: string, files: readonly string[]): string {
  const path = relative(process.cwd(), folder) || '.'
  const entry = path.startsWith('..') ? join(folder, 'src', 'index.ts') : `./${join(path, 'src', 'index.ts')}`
  return [
    `Wrote ${folder}:`,
    ...files.map((file) => `  ${file}`),
    '',
    `Test it: cd ${path} && npm install && npm test`,
    `Load it: add '${entry}' to \`plugins\` in your gateway.json5; README.md shows its settings.`,
    '',
  ].join('\n')
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }
