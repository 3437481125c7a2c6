// The quality scale of plugins: which level is proven, and what the next one lacks.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { resolveLinks } from '../../config/file/paths.ts'
import type { Extension } from '../../plugin/plugin.ts'
import type { ProbeReport } from './probe-plugin.ts'
import type { TestRun } from './run-tests.ts'
import type { SuiteRun } from './suite-report.ts'

const levels = ['bronze', 'silver', 'gold'] as const
export type Level = (typeof levels)[number]

export interface Quality {
  level?: Level
  /** What the next level lacks, one sentence each. */
  next?: { level: Level; lacks: readonly string[] }
  /** What nobody has looked at, each as a part of a sentence. */
  notProven: readonly string[]
}

interface Evidence {
  report: ProbeReport
  /** The folder of the package. Absent: the plugin is a single module. */
  folder: string | undefined
  /** Absent: the tests were not run. */
  tests: TestRun | undefined
  /** The files of the package as npm would publish it. Absent: they were not listed. */
  packed: readonly string[] | undefined
  /** How to run them. */
  howToTest: string
}

export function rateQuality(evidence: Evidence): Quality {
  let level: Level | undefined
  const notProven = listUnproven(evidence)
  for (const next of levels) {
    const lacks = lackOf[next](evidence)
    if (lacks.length > 0) return { ...(level && { level }), next: { level: next, lacks }, notProven }
    level = next
  }
  return { level: 'gold', notProven }
}

function listUnproven({ report, tests, packed }: Evidence): string[] {
  const leftOut = report.extensions.flatMap(({ kind, name }) =>
    tests?.suites.some((run) => run.kind === kind && run.name === name)
      ? []
      : [`what the ${kind} "${name}" does when it is used`],
  )
  return [
    ...leftOut,
    ...(packed ? [] : ['what the package contains that npm would publish']),
    'that it works with the service itself, because the tests of a suite use a double',
  ]
}

const lackOf: Readonly<Record<Level, (evidence: Evidence) => string[]>> = {
  bronze: ({ report, folder, packed }) => [
    ...(report.package === undefined ? ['Put the module into a package; "svc-gateway plugin new" writes one.'] : []),
    ...(report.findings.length > 0 ? ['Correct what is named above.'] : []),
    ...(folder !== undefined && packed ? findUnpacked(report.files, { folder, packed }) : []),
  ],
  silver({ report, tests, howToTest }) {
    if (!tests) return [`Prove what it does when it is used: ${howToTest}`]
    return [
      ...(tests.passed ? [] : ['Let `npm test` pass.']),
      ...report.extensions.flatMap((one) => findUntested(one, tests.suites)),
    ]
  },
  gold: ({ report, tests, folder, packed = [] }) => [
    ...report.extensions.flatMap((one) => findLeftOut(one, tests?.suites ?? [])),
    ...(folder === undefined ? [] : findMissingFiles({ folder, packed }, report)),
  ],
}

type Declared = ProbeReport['extensions'][number]

/** The suite for each kind of extension. A scheme is tested by the suite of the preset that uses it. */
export const suiteOf: Readonly<Record<Extension['kind'], string>> = {
  channel: 'channelContract',
  command: 'commandContract',
  preset: 'presetContract',
  provider: 'providerContract',
  scheme: 'presetContract',
  toolset: 'toolsetContract',
}

const runsOf = ({ kind, name }: Declared, suites: readonly SuiteRun[]): SuiteRun[] =>
  suites.filter((run) => run.kind === kind && run.name === name)

function findUntested(extension: Declared, suites: readonly SuiteRun[]): string[] {
  const { kind, name } = extension
  const runs = runsOf(extension, suites)
  if (runs.length === 0) {
    const how = kind === 'scheme' ? `Name the scheme "${name}" as \`scheme\` in` : `Call it over the ${kind} "${name}":`
    return [`${how} ${suiteOf[kind]} of svc-gateway/testing.`]
  }
  return runs.every((run) => run.passed) ? [] : [`Let all tests of the ${kind} "${name}" run and pass.`]
}

function findLeftOut(extension: Declared, suites: readonly SuiteRun[]): string[] {
  const without = [...new Set(runsOf(extension, suites).flatMap((run) => run.without))]
  const names = without.map((ability) => `"${ability}"`).join(', ')
  return without.length > 0
    ? [`Test ${names} of the ${extension.kind} "${extension.name}", instead of \`without\`.`]
    : []
}

const workflows = ['.github/workflows', '.forgejo/workflows', '.gitea/workflows', '.gitlab-ci.yml', '.circleci']

interface Package {
  folder: string
  packed: readonly string[]
}

/** Files without which the package cannot be imported by those who install it. */
const findUnpacked = (files: readonly string[], { folder, packed }: Package): string[] =>
  files
    .map((file) => relative(resolveLinks(folder), file).replaceAll('\\', '/'))
    .filter((path) => !path.startsWith('../') && !packed.includes(path))
    .map((path) => `Add ${path} to \`files\` of package.json: it is imported, and the published package would lack it.`)

/** A workflow runs where the source is; everything else must be in the published package. */
function findMissingFiles({ folder, packed }: Package, { extensions }: ProbeReport): string[] {
  const names = packed.filter((path) => !path.includes('/'))
  const find = (pattern: RegExp): string | undefined => names.find((name) => pattern.test(name))
  const readme = find(/^readme\b/i)
  const text = readme === undefined ? '' : readFileSync(join(folder, readme), 'utf8')
  const unnamed = extensions.flatMap(({ kind, name, settings }) => {
    const keys = settings.filter((key) => !text.includes(key)).map((key) => `\`${key}\``)
    return keys.length > 0 ? [`Name in the README these settings of the ${kind} "${name}": ${keys.join(', ')}.`] : []
  })
  return [
    ...(find(/^licen[cs]e\b/i) === undefined ? ['Add a LICENSE to the package.'] : []),
    ...(find(/^change(?:log|s)\b/i) === undefined
      ? ['Add a CHANGELOG.md to the package; name it in `files` of package.json.']
      : []),
    ...(readme === undefined ? ['Add a README.md to the package.'] : []),
    ...(readme === undefined ? [] : unnamed),
    ...(workflows.some((path) => existsSync(join(folder, path)))
      ? []
      : ['Run the tests for each change: add a workflow, such as .github/workflows/test.yml.']),
  ]
}
