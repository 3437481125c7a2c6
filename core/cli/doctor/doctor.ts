// The command `doctor`: looks for whatever keeps a gateway on this machine from working, and says how to fix it.
import { allCredentials } from '../../config/credentials.ts'
import { createRedactor, logSecrets } from '../../config/redaction.ts'
import { firstLineOf } from '../../errors.ts'
import { type CheckGroup, groups } from './checks.ts'
import type { Finding, Outcome } from './finding.ts'
import { type GroupReport, printJson, printReport } from './report.ts'
import { type DoctorOptions, openSubject, type Subject } from './subject.ts'

export async function doctor(options: DoctorOptions): Promise<void> {
  const reports = await diagnose(options)
  const findings = listFindings(reports)
  if (options.json) printJson(findings)
  else printReport(reports, findings)
  if (findings.some(({ severity }) => options.strict || severity === 'error')) process.exitCode = 1
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
  const results = checks.map(async (check) => ({ title: check.title, outcome: hide(await run(check, subject)) }))
  return { name, results: await Promise.all(results) }
}

/** A gateway that stops meanwhile, or a file that vanishes, must not hide what the other checks find. */
async function run({ find }: CheckGroup['checks'][number], subject: Subject): Promise<Outcome> {
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
