// The command `plugin new`: writes a package with an extension, its tests and a README, from the templates of its kind.
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { quoteWord } from '../../kit/command-input.ts'
import { loadBuiltins, sharesName } from '../../loader/registry.ts'
import { nameFault } from '../../loader/verify.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { Extension } from '../../plugin/plugin.ts'
import { contractVersion } from '../../plugin/version.ts'
import { listTemplates, readTemplate } from '../read-template.ts'
import { readManifest } from '../../version.ts'
import { printJson } from '../terminal.ts'

/** What a plugin adds. A scheme comes with a preset. */
type PluginKind = Exclude<Extension['kind'], 'scheme'>

interface NewOptions {
  name: string
  kind: PluginKind
  panel?: boolean
  dir?: string
  json?: boolean
}

export async function createPlugin({ name, kind, panel = false, dir, json = false }: NewOptions): Promise<void> {
  await checkName(kind, name)
  if (panel && !listTemplates(kind).some(isOfPanel))
    throw new CommandError(`--panel: a ${kind} has no panel; a channel, a toolset or a preset may have one.`)
  const packageName = `svc-gateway-plugin-${name}`
  const folder = resolve(dir ?? packageName)
  const files = new Map([
    ['package.json', describePackage({ kind, packageName })],
    ...readTemplates(kind, { name, packageName }, panel),
  ])
  createFolder(folder)
  for (const [path, text] of files) writeNew(join(folder, path), text)
  const next = listNextSteps(folder)
  if (json) printJson({ folder, files: [...files.keys()].map((path) => join(folder, path)), ...next })
  else process.stdout.write(describeResult(folder, [...files.keys()], next))
}

/** The gateway would refuse the plugin, so it is said before anything is written. */
async function checkName(kind: PluginKind, name: string): Promise<void> {
  const fault = nameFault(kind, name) ?? (/^[a-z]/.test(name) ? undefined : 'its name must begin with a letter')
  if (fault !== undefined) throw new CommandError(`The ${kind} cannot be called "${name}": ${fault}.`)
  const { sources } = await loadBuiltins()
  if ([...sources.keys()].some((one) => one.kind === kind && sharesName(one, { kind, name })))
    throw new CommandError(`The ${kind} cannot be called "${name}": a built-in ${kind} has that name; use another one.`)
}

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

/** `name` is that of the extension. */
interface PluginNames {
  name: string
  packageName: string
}

const isOfPanel = (path: string): boolean => path.startsWith(join('src', 'panel'))

/** The line that declares the panel. */
const panelLine = /^ {2}panel: \{.*\},\n/m

/** @returns the texts of the files, by their paths in the new package */
function readTemplates(kind: string, names: PluginNames, hasPanel: boolean): [string, string][] {
  const read = (path: string): string => {
    const text = readTemplate(path)
    return fillIn(hasPanel ? text : text.replace(panelLine, ''), names)
  }
  const own = listTemplates(kind).filter((path) => path !== 'README.md' && (hasPanel || !isOfPanel(path)))
  return [
    ['README.md', read(join(kind, 'README.md')) + read('developing.md')],
    ['tsconfig.json', read('tsconfig.json')],
    // npm leaves out files with the name .gitignore when it packs.
    ['.gitignore', read('gitignore')],
    ['.github/workflows/test.yml', read('workflow.yml')],
    ['LICENSE', read('LICENSE')],
    ['CHANGELOG.md', read('changelog.md')],
    ...(hasPanel ? [[join('src', 'panel', 'index.html'), read('panel.html')] as [string, string]] : []),
    ...own.map((path): [string, string] => [path, read(join(kind, path))]),
  ]
}

/** The templates are code that runs, so the name has a spelling for each place: `plugin-name`, `plugin_name` … */
function fillIn(text: string, { name, packageName }: PluginNames): string {
  const words = name.split('-').filter(Boolean)
  const title = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ')
  const spellings: Readonly<Record<string, string>> = {
    PACKAGE: packageName,
    YEAR: String(new Date().getFullYear()),
    'plugin-name': name,
    plugin_name: words.join('_'),
    'Plugin Name': title,
    PLUGIN_NAME: words.join('_').toUpperCase(),
  }
  return text.replaceAll(
    /PACKAGE|YEAR|plugin-name|plugin_name|Plugin Name|PLUGIN_NAME/g,
    (found) => spellings[found] ?? '',
  )
}

/** The npm packages that the code of a template imports. */
const imported: Partial<Record<PluginKind, readonly string[]>> = { provider: ['@ai-sdk/openai-compatible'] }

function describePackage({ kind, packageName }: { kind: PluginKind; packageName: string }): string {
  const own = readManifest()
  const versionsOf = (names: readonly string[], versions: Readonly<Record<string, string>>) =>
    Object.fromEntries(names.map((name) => [name, `^${versions[name]}`]))
  const dependencies = versionsOf(imported[kind] ?? [], own.optionalDependencies)
  const description = {
    name: packageName,
    version: '0.1.0',
    description: `A ${kind} for svc-gateway.`,
    keywords: ['svc-gateway', 'svc-gateway-plugin'],
    license: 'MIT',
    type: 'module',
    exports: './src/index.ts',
    files: ['src', 'CHANGELOG.md'],
    scripts: { test: 'vitest run', check: 'tsc' },
    ...(Object.keys(dependencies).length > 0 && { dependencies }),
    peerDependencies: { 'svc-gateway': `^${contractVersion}` },
    // The gateway brings the contract. The package of the gateway is for types and tests.
    peerDependenciesMeta: { 'svc-gateway': { optional: true } },
    devDependencies: {
      ...versionsOf(['@types/node'], own.devDependencies),
      'svc-gateway': `^${own.version}`,
      ...versionsOf(['typescript', 'vitest'], own.devDependencies),
    },
  }
  return `${JSON.stringify(description, null, 2)}\n`
}
