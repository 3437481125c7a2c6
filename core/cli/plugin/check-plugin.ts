// The command `plugin check`: prints everything that a gateway would refuse in a plugin, or what has been proven.
import { existsSync, statSync } from 'node:fs'
import { isAbsolute, join, relative } from 'node:path'
import { quoteWord } from '../../kit/command-input.ts'
import { fieldsOf } from '../../kit/shapes.ts'
import { readManifest } from '../../loader/plugin-package.ts'
import { CommandError } from '../../plugin/errors.ts'
import { print, printJson } from '../terminal.ts'
import { examinePlugin } from './examine-plugin.ts'
import type { ProbeReport } from './probe-plugin.ts'
import { type Level, type Quality, rateQuality, suiteOf } from './quality.ts'
import { listPackedFiles } from './npm.ts'
import { runTests } from './run-tests.ts'

interface CheckOptions {
  plugin?: string | undefined
  test?: boolean | undefined
  strict?: boolean | undefined
  json?: boolean
}

export async function checkPlugin(options: CheckOptions): Promise<void> {
  const { plugin = '.', test = false, strict = false, json = false } = options
  const entry = entryOf(plugin)
  const folder = isPackage(plugin) ? plugin : undefined
  if (test && (folder === undefined || !hasTests(folder)))
    throw new CommandError(`--test: ${plugin} is not the folder of a package with a script \`test\` in package.json.`)
  const report = await examinePlugin(entry)
  const count = (wanted: string) => report.findings.filter(({ severity }) => severity === wanted).length
  const tests = test && count('error') === 0 ? await runTests(plugin) : undefined
  const packed = tests && (await listPackedFiles(plugin))
  const quality = rateQuality({ report, folder, tests, packed, howToTest: describeTests(plugin, report) })
  if (tests && !tests.passed) process.stderr.write(tests.output)
  const { files: _files, ...shown } = report
  if (json) printJson({ plugin: entry, ...shown, ...quality, ...(tests && { suites: tests.suites }) })
  else printReport(entry, report, quality)
  if (count('error') > 0) throw new CommandError('A gateway would refuse the plugin; see above.')
  if (tests && !tests.passed) throw new CommandError('The tests of the plugin have failed; see above.')
  if (strict && count('warning') > 0)
    throw new CommandError('The plugin has a fault, and --strict allows none; see above.')
}

/** As an operator writes it in `plugins`. */
function entryOf(plugin: string): string {
  if (!existsSync(plugin))
    throw new CommandError(`There is no file or folder ${plugin}; name the folder of the package, or its module.`)
  return isAbsolute(plugin) ? plugin : `./${relative('.', plugin)}`
}

const proofs: Readonly<Record<Level, string>> = {
  bronze: 'a gateway loads it',
  silver: 'a gateway loads it, and each extension passes the suite of its kind',
  gold: 'a gateway loads it, each extension passes the whole suite of its kind, and others can rely on the package',
}

function printReport(entry: string, { package: name = entry, extensions, findings }: ProbeReport, quality: Quality) {
  if (extensions.length > 0) print(`${name}: ${extensions.map(({ description }) => description).join(', ')}`)
  for (const { severity, sentence } of findings)
    process.stderr.write(`${severity === 'warning' ? 'warning: ' : ''}${sentence}\n`)
  if (findings.some(({ severity }) => severity === 'error')) return
  const { level, next, notProven } = quality
  print(`ok${level ? `, ${level}` : ''}: ${proofs[level ?? 'bronze']}.`)
  print(`Not proven: ${notProven.join('; ')}.`)
  if (next) print([`For ${next.level}:`, ...next.lacks.map((sentence) => `  ${sentence}`)].join('\n'))
}

const isPackage = (plugin: string): boolean =>
  statSync(plugin).isDirectory() && existsSync(join(plugin, 'package.json'))

const hasTests = (folder: string): boolean =>
  typeof fieldsOf(readManifest(join(folder, 'package.json'))['scripts'])['test'] === 'string'

/** How to find out what the tests prove, as the end of a sentence: the command, or else the suites to call in a test. */
function describeTests(plugin: string, { extensions }: ProbeReport): string {
  if (isPackage(plugin) && hasTests(plugin))
    return `svc-gateway plugin check${plugin === '.' ? '' : ` ${quoteWord(plugin)}`} --test`
  const names = [...new Set(extensions.map(({ kind }) => suiteOf[kind]))]
  return `call ${names.join(' and ')} of svc-gateway/testing in tests, which \`npm test\` runs.`
}
