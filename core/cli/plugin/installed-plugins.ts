// The commands `plugin add`, `plugin list` and `plugin remove`: the plugins of a configuration, and their npm packages.
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { ConfigError, describeProblem } from '../../config/config-error.ts'
import { readLocatedConfig } from '../../config/file/locate.ts'
import { changeListInFile } from '../../config/file/merge.ts'
import type { ConfigDocument } from '../../config/file/read.ts'
import { examineConfig } from '../../config/resolve.ts'
import { textOf } from '../../kit/shapes.ts'
import { readManifest } from '../../loader/plugin-package.ts'
import { type Extensions, loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../../plugin/errors.ts'
import type { CommandContext, Extension } from '../../plugin/plugin.ts'
import { findToolClashes } from '../../tools/unmatched-names.ts'
import { describeNpmPackage, installPackage, readPackageSpec, uninstallPackage } from './npm.ts'
import { savePackages } from './save-packages.ts'
import { describeSettings } from './settings-needed.ts'

interface Options {
  config?: string | undefined
  json?: boolean | undefined
}

type Output = Pick<CommandContext, 'terminal'>

/** Installs a package, checks it together with the plugins that are there, and adds it to `plugins`. */
export async function addPlugin(
  { package: given, config, json = false }: Options & { package: string },
  { terminal }: Output,
): Promise<void> {
  const spec = readPackageSpec(given)
  const document = readLocatedConfig(config)
  const { dir } = document
  const { name, version } = await describeNpmPackage(dir, spec)
  const before = installedVersion(dir, name)
  ensureManifest(dir)
  await using installed = await savePackages(dir, { name, version: before })
  await installPackage(dir, spec)
  using extensions = await loadExtensions({ ...document, plugins: [...new Set([...document.plugins, name])] })
  const problem = problemsOf(extensions, name)[0] ?? findMisfit(document, { name, version, extensions })
  if (problem !== undefined) {
    await installed.restore()
    throw new CommandError(`${problem} ${before === undefined ? 'It was not added.' : `Version ${before} stays.`}`)
  }
  const own = listExtensions(extensions, name)
  const settings = describeSettings(own)
  const missing = document.plugins.includes(name) ? [] : addEntry(document, name, extensions)
  const leftOut = listLeftOut(document, { extensions, own })
  const brought = own.map(({ kind, name: called }) => ({ kind, name: called }))
  const added = { name, version, extensions: brought, settings, ...(leftOut.length > 0 && { leftOut }) }
  if (json) terminal.printJson({ ...added, file: document.file, ...(missing.length > 0 && { missing }) })
  else terminal.print(describeAdded(added, { file: document.file, missing }))
  if (missing.length > 0) throw new CommandError(`"${name}" is installed, but not in \`plugins\` yet.`)
}

interface Candidate {
  name: string
  version: string
  extensions: Extensions
}

/** Why the gateway would not start with an update of a plugin that the configuration has. */
function findMisfit(document: ConfigDocument, { name, version, extensions }: Candidate): string | undefined {
  if (!document.plugins.includes(name)) return undefined
  const [problem] = examineConfig(document, extensions).problems
  return (
    problem &&
    `The configuration does not fit ${name} ${version}: ${describeProblem(problem)}; change it, and run the command again.`
  )
}

/** A sentence for each tool of the plugin whose name is taken. */
function listLeftOut(
  document: ConfigDocument,
  { extensions, own }: { extensions: Extensions; own: readonly Extension[] },
): string[] {
  const { config } = examineConfig(document, extensions).resolved
  return findToolClashes(config, extensions)
    .filter(({ toolset }) => own.some((one) => one.kind === 'toolset' && one.name === toolset))
    .map(({ keys, problem }) => `${keys.join('.')} ${problem}.`)
}

/** @returns what the configuration lacks, so that the entry was not written: the gateway would not start. */
function addEntry(document: ConfigDocument, name: string, extensions: Extensions): string[] {
  try {
    changeListInFile(document, { keys: ['plugins'], add: name }, extensions)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(({ path, problem }) => `${path} ${problem}`)
  }
}

interface Added {
  name: string
  version: string
  extensions: readonly { kind: string; name: string }[]
  settings: readonly string[]
  leftOut?: readonly string[]
}

function describeAdded(
  { name, version, extensions, settings, leftOut = [] }: Added,
  { file, missing }: AddedTo,
): string {
  const brings = extensions.map((one) => `${one.kind} ${one.name}`).join(', ')
  const head = `${name} ${version} is installed: ${brings}.`
  if (missing.length === 0)
    return [head, `It is in \`plugins\` of ${file}. Restart the gateway to load it.`, ...settings, ...leftOut].join(
      '\n',
    )
  const add = `Add '${name}' to \`plugins\` of ${file} together with these settings:`
  return [head, add, ...missing.map((sentence) => `  ${sentence}`)].join('\n')
}

interface AddedTo {
  file: string
  missing: readonly string[]
}

export async function listPlugins({ config, json }: Options, { terminal }: Output): Promise<void> {
  const document = readLocatedConfig(config)
  using extensions = await loadExtensions(document)
  const plugins = document.plugins.map((source) => describePlugin(extensions, source))
  await terminal.printList(plugins, {
    noun: 'plugins',
    json,
    columns: {
      PLUGIN: ({ source }) => source,
      PACKAGE: ({ name }) => name ?? '-',
      VERSION: ({ version }) => version ?? '-',
      EXTENSIONS: ({ extensions: brought }) => brought.map((one) => `${one.kind} ${one.name}`).join(', ') || '-',
      PROBLEM: ({ problems }) => problems?.[0],
    },
  })
}

const problemsOf = ({ findings }: Extensions, source: string): string[] =>
  findings.flatMap(({ severity, plugin, sentence }) => (severity === 'error' && plugin === source ? [sentence] : []))

function describePlugin(extensions: Extensions, source: string) {
  const { name, version } = extensions.packages.get(source) ?? {}
  const problems = problemsOf(extensions, source)
  return {
    source,
    ...(name !== undefined && { name }),
    ...(version !== undefined && { version }),
    extensions: listExtensions(extensions, source).map((one) => ({ kind: one.kind, name: one.name })),
    ...(problems.length > 0 && { problems }),
  }
}

/** Removes an entry of `plugins`, and uninstalls its package if it was installed here. */
export async function removePlugin(
  { plugin, config, json = false }: Options & { plugin: string },
  { terminal }: Output,
): Promise<void> {
  const document = readLocatedConfig(config)
  const { dir, file } = document
  const index = ((document.value['plugins'] ?? []) as unknown[]).indexOf(plugin)
  if (index === -1)
    throw new CommandError(`"${plugin}" is not in \`plugins\` of ${file}; "svc-gateway plugin list" shows what is.`)
  const rest = document.plugins.filter((one) => one !== plugin)
  using extensions = await loadExtensions({ ...document, plugins: rest })
  changeListInFile(document, { keys: ['plugins'], removeAt: index }, extensions)
  const uninstalled = isInstalled(dir, plugin)
  if (uninstalled) await uninstallPackage(dir, plugin)
  if (json) terminal.printJson({ plugin, file, uninstalled })
  else
    terminal.print(
      `${plugin} is removed from ${file}${uninstalled ? ' and uninstalled' : ''}. Restart the gateway to unload it.`,
    )
}

const listExtensions = ({ sources }: Extensions, source: string) =>
  [...sources].flatMap(([extension, from]) => (from === source ? [extension] : []))

const isInstalled = (dir: string, name: string): boolean => installedVersion(dir, name) !== undefined

function installedVersion(dir: string, name: string): string | undefined {
  const manifest = join(dir, 'node_modules', name, 'package.json')
  if (name.startsWith('.') || name.startsWith('/') || !existsSync(manifest)) return undefined
  return textOf(readManifest(manifest)['version']) ?? 'before'
}

/** npm records there what is installed. */
function ensureManifest(dir: string): void {
  const file = join(dir, 'package.json')
  if (!existsSync(file)) writeFileSync(file, '{\n  "private": true\n}\n')
}
