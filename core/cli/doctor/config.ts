// Checks the configuration as `check` does, and turns what it reports into findings.
import type { ConfigProblem, ProblemCode } from '../../config/config-error.ts'
import { commandLine } from '../../config/file/locate.ts'
import { isExposed } from './exposure.ts'
import { type Finding, type Outcome, splitFix } from './finding.ts'
import type { Subject } from './subject.ts'

export function checkConfig(subject: Subject): Outcome {
  const { file, isMissing, errors, warnings, pluginProblems } = subject
  if (isMissing) return [missingConfig(file)]
  return [
    ...pluginProblems.map((problem) => refusedPlugin(problem)),
    ...errors.map((problem) => toFinding(problem, { subject, severity: 'error' })),
    ...warnings.map((problem) => toFinding(problem, { subject, severity: severityOf(problem, subject) })),
  ]
}

const missingConfig = (file: string): Finding => ({
  id: 'config_missing',
  severity: 'error',
  where: file,
  problem: `There is no configuration at ${file}.`,
  fix: `Create one with: ${commandLine(`setup --config ${file}`)}`,
})

const refusedPlugin = (problem: string): Finding => ({
  id: 'plugin_refused',
  severity: 'error',
  where: 'plugins',
  ...splitFix(problem.replace(/\.$/, ''), 'Correct the plugin, or remove it from plugins.'),
})

/** The gateway starts, but something of it cannot work. */
const failures: ReadonlySet<ProblemCode> = new Set(['package_missing', 'transform_broken'])
const weaknesses: ReadonlySet<ProblemCode> = new Set(['token_short'])

function severityOf({ code }: ConfigProblem, { ready }: Subject): Finding['severity'] {
  if (code === undefined) return 'warning'
  if (failures.has(code)) return 'error'
  return weaknesses.has(code) && ready && isExposed(ready.resolved.config.gateway) ? 'error' : 'warning'
}

function toFinding(
  { path, id, line, code, problem }: ConfigProblem,
  { subject: { file }, severity }: { subject: Subject; severity: Finding['severity'] },
): Finding {
  const where = path || file
  const name = id === undefined ? '' : ` (${JSON.stringify(id)})`
  return {
    id: code ?? (severity === 'error' ? 'config_invalid' : 'config_warning'),
    severity,
    where,
    ...(line !== undefined && { line }),
    ...explain(`${where}${name} ${problem}`, { fallback: `Correct ${path || 'it'} in ${file}.`, code }),
  }
}

/** Fixes of problems whose text does not end with one. */
const fixes: Partial<Record<ProblemCode, string>> = {
  secret_file_missing: 'Create the file, let the user of the gateway read it, or correct its path.',
  transform_broken: `Correct the file, and try it with: ${commandLine('transform test <module> --payload <file>')}`,
}

function explain(
  text: string,
  { fallback, code }: { fallback: string; code: ProblemCode | undefined },
): Pick<Finding, 'problem' | 'fix'> {
  const fix = code && fixes[code]
  return fix === undefined ? splitFix(text, fallback) : { problem: `${text}.`, fix }
}
