// Prints what the checks found: grouped for people, or one JSON object per finding.
import { styleText } from 'node:util'
import { escapeInLine } from '../../kit/escape-for-terminal.ts'
import type { Finding, Outcome } from './finding.ts'

export interface GroupReport {
  name: string
  results: readonly { title: string; outcome: Outcome }[]
}

export function printJson(findings: readonly Finding[]): void {
  for (const { id, severity, where, ...rest } of findings)
    process.stdout.write(`${JSON.stringify({ id, severity, where, ...rest })}\n`)
}

export function printReport(groups: readonly GroupReport[], findings: readonly Finding[]): void {
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

function describeFinding({ id, severity, line, problem, fix }: Finding): string[] {
  const mark = severity === 'error' ? styleText('red', '✗') : styleText('yellow', '!')
  const place = line === undefined ? '' : `line ${line}: `
  return [
    `${mark} ${escapeInLine(place + problem)} ${styleText('dim', `[${id}]`)}`,
    `  ${styleText('cyan', 'Fix:')} ${escapeInLine(fix)}`,
  ]
}

function summarize(findings: readonly Finding[]): string {
  const errors = findings.filter(({ severity }) => severity === 'error').length
  const warnings = findings.length - errors
  if (findings.length === 0) return 'No problems were found.'
  return `${count(errors, 'error')}, ${count(warnings, 'warning')}.`
}

const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
