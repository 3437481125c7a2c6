// The command `doctor`: looks for whatever keeps a gateway on this machine from working, and says how to fix it.
import { styleText } from 'node:util'
import { allCredentials } from '../../config/credentials.ts'
import { createRedactor, logSecrets } from '../../config/redaction.ts'
import { firstLineOf } from '../../errors.ts'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import { type Check, type CheckGroup, groups } from './checks.ts'
import { printJson } from '../terminal.ts'
import type { Finding, Outcome } from './finding.ts'
import { type DoctorOptions, openSubject, type Subject } from './subject.ts'

export async function doctor(options: DoctorOptions): Promise<void> {
  const reports = await diagnose(options)
  const findings = listFindings(reports)
  // In this order.
  if (options.json) for (const { id, severity, where, ...rest } of findings) printJson({ id, severity, where, ...rest })
  else printReport(reports, findings)
  const isFailure = ({ severity }: Finding): boolean =>
    severity === 'error' || (severity === 'warning' && (options.strict ?? false))
  if (findings.some(isFailure)) process.exitCode = 1
}

/** Runs all checks at once, because most of them wait for the network. */
export async function diagnose(options: DoctorOptions): Promise<GroupReport[]> {
  const subject = await openSubject(options)
  try {
    return await Promise.all(groups.map((group) => runGroup(group, subject)))
  } finally {
    subject.close()
  }
}

export const listFindings = (reports: readonly GroupReport[]): Finding[] =>
  reports.flatMap(({ results }) => results.flatMap(({ outcome }) => ('skipped' in outcome ? [] : outcome)))

async function runGroup({ name, checks }: CheckGroup, subject: Subject): Promise<GroupReport> {
  const hide = createHider(subject)
  const titleOf = ({ title }: Check) => (typeof title === 'string' ? title : title(subject))
  const results = checks.map(async (check) => ({ title: titleOf(check), outcome: hide(await run(check, subject)) }))
  return { name, results: await Promise.all(results) }
}

/** A gateway that stops meanwhile, or a file that vanishes, must not hide what the other checks find. */
async function run({ find }: Check, subject: Subject): Promise<Outcome> {
  try {
    return await find(subject)
  } catch (error) {
    return { skipped: `it failed: ${firstLineOf(error)}` }
  }
}

/** Removes secrets from findings, because some quote what a server or a library said. */
function createHider({ ready }: Subject): (outcome: Outcome) => Outcome {
  const secrets = ready ? logSecrets(ready.resolved, process.env) : allCredentials({}, process.env)
  const { text } = createRedactor(secrets)
  const hide = (finding: Finding): Finding => ({ ...finding, problem: text(finding.problem), fix: text(finding.fix) })
  return (outcome) => ('skipped' in outcome ? { skipped: text(outcome.skipped) } : outcome.map(hide))
}

interface GroupReport {
  name: string
  results: readonly { title: string; outcome: Outcome }[]
}

function printReport(groups: readonly GroupReport[], findings: readonly Finding[]): void {
  for (const group of groups) {
    const lines = describeGroup(group)
    process.stdout.write(`${[styleText('bold', group.name), ...lines.map((line) => `  ${line}`)].join('\n')}\n\n`)
  }
  process.stdout.write(`${summarize(findings)}\n`)
}

function describeGroup({ results }: GroupReport): string[] {
  const reasons = new Set(results.map(({ outcome }) => ('skipped' in outcome ? outcome.skipped : undefined)))
  const [reason] = reasons
  // One line says why nothing was checked.
  if (reasons.size === 1 && reason !== undefined) return [describeSkipped(`Not checked: ${reason}.`)]
  return results.flatMap(({ title, outcome }) => {
    if ('skipped' in outcome) return [describeSkipped(`Not checked: ${title} (${outcome.skipped})`)]
    if (outcome.length === 0) return [`${styleText('green', '✓')} ${title}`]
    return outcome.flatMap(describeFinding)
  })
}

const describeSkipped = (text: string): string => styleText('dim', `- ${escapeInLine(text)}`)

const marks: Record<Finding['severity'], string> = {
  error: styleText('red', '✗'),
  warning: styleText('yellow', '!'),
  info: styleText('cyan', 'i'),
}

function describeFinding({ id, severity, line, problem, fix }: Finding): string[] {
  const place = line === undefined ? '' : `line ${line}: `
  return [
    `${marks[severity]} ${escapeInLine(place + problem)} ${styleText('dim', `[${id}]`)}`,
    `  ${styleText('cyan', 'Fix:')} ${escapeInLine(fix)}`,
  ]
}

function summarize(findings: readonly Finding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.filter(({ severity }) => severity === 'warning').length
  if (errors + warnings === 0) return 'No problems were found.'
  return `${count(errors, 'error')}, ${count(warnings, 'warning')}.`
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
