// The command `plugin new`: writes a package with an extension, its tests and a README, from the templates of its kind.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { loadExtensions } from '../../loader/registry.ts'
import { nameFault } from '../../loader/verify.ts'
import type { Extension } from '../../plugin/plugin.ts'
import { CommandError } from '../../plugin/errors.ts'
import { quoteWord } from '../../kit/command-input.ts'
import { printJson } from '../terminal.ts'
import { describePackage } from './package-json.ts'
import { readTemplates } from './templates.ts'

type Kind = Extension['kind']

interface NewOptions {
  name: string
  kind: Kind
  dir?: string
  json?: boolean
}

export async function createPlugin({ name, kind, dir, json = false }: NewOptions): Promise<void> {
  await checkName(kind, name)
  const packageName = `svc-gateway-plugin-${name}`
  const folder = resolve(dir ?? packageName)
  const files = new Map([
    ['package.json', describePackage({ kind, packageName })],
    ...readTemplates(kind, { name, packageName }),
  ])
  createFolder(folder)
  for (const [path, text] of files) writeNew(join(folder, path), text)
  const next = listNextSteps(folder)
  if (json) printJson({ folder, files: [...files.keys()].map((path) => join(folder, path)), ...next })
  else process.stdout.write(describeResult(folder, [...files.keys()], next))
}

/** The gateway would refuse the plugin, so it is said before anything is written. */
async function checkName(kind: Kind, name: string): Promise<void> {
  const fault = nameFault(kind, name) ?? (/^[a-z]/.test(name) ? undefined : 'its name must begin with a letter')
  if (fault !== undefined) throw new CommandError(`The ${kind} cannot be called "${name}": ${fault}.`)
  const extensions = await loadExtensions({ plugins: [], dir: process.cwd() })
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

interface NextSteps {
  /** What to add to `plugins`. */
  entry: string
  /** The command that tests the plugin. */
  test: string
}

function listNextSteps(folder: string): NextSteps {
  const path = relative(process.cwd(), folder) || '.'
  const entry = path.startsWith('..') ? join(folder, 'src', 'index.ts') : `./${join(path, 'src', 'index.ts')}`
  return { entry, test: `cd ${quoteWord(path)} && npm install && npm test` }
}

const describeResult = (folder: string, files: readonly string[], { entry, test }: NextSteps): string =>
  [
    `Wrote ${folder}:`,
    ...files.map((file) => `  ${file}`),
    '',
    `Test it: ${test}`,
    `Load it: add '${entry}' to \`plugins\` in your gateway.json5; README.md shows its settings.`,
    '',
  ].join('\n')
