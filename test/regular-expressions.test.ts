// Regular expressions of the sources take linear time, so that no text from outside keeps the gateway busy.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseAst } from 'rolldown/parseAst'
import { analyse } from 'scslre'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const folders = ['core', 'channels', 'plugins', 'transforms']

/** Texts of the operator, and texts that are known to be short. */
const allowed: Readonly<Record<string, readonly string[]>> = {
  'channels/discord/index.ts': [String.raw`\/+$`],
  'channels/msteams/conversations.ts': [String.raw`\/+$`],
  'channels/telegram/client.ts': [String.raw`\/+$`],
  'channels/whatsapp/cloud-api.ts': [String.raw`\/+$`],
  'core/cli/parser.ts': [String.raw`\/+$`],
  'core/cli/doctor/credentials.ts': ['change[-_ ]?me|your[-_ ]|example|placeholder|password|123456|abcdef|<.*>'],
  'core/cli/doctor/models.ts': [';.*$'],
  'core/kit/command-input.ts': ["^([\\w!#$%&'*+.^`|~-]+):\\s*(.*)$"],
  'core/config/file/edit-text.ts': [String.raw`\n?[ \t]*$`],
  'core/config/resolve.ts': [String.raw`\/\/[^/@]*:[^/]*@|[?&]password=`],
  // At most 40 digits.
  'core/config/template/filters.ts': [String.raw`\B(?=(?:\d{3})+$)`],
  // The text is at most 2,000 characters long.
  'core/runs/heartbeat-ok.ts': ['(?:<[^<>]{1,200}>|&nbsp;|[*_`~\\s])+$'],
  'plugins/presets/gmail/credentials.ts': [String.raw`\/+$`],
}

interface Literal {
  pattern: string
  flags: string
}

/** The regular expressions of a source. */
function literalsOf(source: string): Literal[] {
  const found: Literal[] = []
  const visit = (node: unknown): void => {
    if (typeof node !== 'object' || node === null) return
    const { type, regex } = node as { type?: string; regex?: Literal }
    if (type === 'Literal' && regex) found.push(regex)
    Object.values(node).forEach(visit)
  }
  visit(parseAst(source, { lang: 'ts' }))
  return found
}

/** What makes the time of a regular expression grow faster than the text. */
function faultsOf({ pattern, flags }: Literal): string[] {
  const { reports } = analyse({ source: pattern, flags: flags.replace(/[dv]/g, '') }, { reportTypes: { Move: true } })
  return reports.map(({ type, exponential }) => (exponential ? 'exponential' : `quadratic (${type})`))
}

describe('regular expressions', () => {
  it('are found, with what is wrong with them', () => {
    const [found] = literalsOf('const isName = (text: string): boolean => /^(a+)+$/u.test(text)')
    expect(found).toMatchObject({ pattern: '^(a+)+$', flags: 'u' })
    expect(faultsOf(found!)).not.toEqual([])
    expect(faultsOf({ pattern: '\\s*<.*>$', flags: '' })).not.toEqual([])
    expect(faultsOf({ pattern: '^\\d+$', flags: '' })).toEqual([])
  })

  it('take linear time', () => {
    const files = execFileSync('git', ['ls-files', ...folders], { cwd: root, encoding: 'utf8' }).split('\n')
    const sources = files.filter((path) => path.endsWith('.ts'))
    expect(sources.length).toBeGreaterThan(300)
    const faults = sources.flatMap((path) =>
      literalsOf(readFileSync(join(root, path), 'utf8')).flatMap((literal) =>
        (allowed[path]?.includes(literal.pattern) ? [] : faultsOf(literal)).map(
          (fault) => `${path}: /${literal.pattern}/${literal.flags} is ${fault}`,
        ),
      ),
    )
    expect(faults).toEqual([])
  })

  it.each(Object.entries(allowed))('that are allowed are still in %s', (path, patterns) => {
    const literals = literalsOf(readFileSync(join(root, path), 'utf8'))
    const slow = new Set(literals.flatMap((literal) => (faultsOf(literal).length > 0 ? literal.pattern : [])))
    expect(patterns.filter((pattern) => !slow.has(pattern))).toEqual([])
  })
})
