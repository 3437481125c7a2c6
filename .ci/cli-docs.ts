// Writes the parts of docs/cli.md that the commands themselves define: usage, options and examples. Each part is
// between `<!-- command: <name> -->` and `<!-- end -->`; the rest of the page is written by hand.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { createParser, type ListedCommand } from '../core/cli/parser.ts'
import { listBuiltinCommands } from '../core/cli/program.ts'

const page = join(import.meta.dirname, '..', 'docs', 'cli.md')

/** The commands that do something, by name, such as `runs list`. Hidden ones are internal. */
export function listCommands(): Map<string, Command> {
  const program = parserOf(listBuiltinCommands())
  const visible = program.createHelp().visibleCommands(program)
  const leaves = visible.flatMap((command) => (command.commands.length > 0 ? command.commands : [command]))
  return new Map(leaves.filter((command) => command.name() !== 'help').map((command) => [nameOf(command), command]))
}

const parserOf = (commands: readonly ListedCommand[]): Command => createParser(commands, '', async () => {})

/** A command that needs only a client of the gateway. */
const [any] = parserOf([{ name: 'any', description: '', examples: [], needs: ['control'], run() {} }]).commands as [
  Command,
]

const nameOf = (command: Command): string =>
  command.parent?.parent ? `${command.parent.name()} ${command.name()}` : command.name()

/** The page with its generated parts replaced. */
export function renderPage(text: string): string {
  const commands = listCommands()
  return text.replaceAll(/<!-- command: (.+) -->\n[^]*?<!-- end -->/g, (_block, name: string) => {
    const command = name === 'any' ? any : commands.get(name)
    if (!command) throw new Error(`docs/cli.md has a part for "${name}", which is no command.`)
    const parts = name === 'any' ? [renderOptions(command, new Set())] : renderCommand(name, command)
    return [`<!-- command: ${name} -->`, ...parts.filter(Boolean), '<!-- end -->'].join('\n\n')
  })
}

function renderCommand(name: string, command: Command): string[] {
  const shared = new Set(any.options.map(keyOf))
  const examples = readExamples(command)
  return [
    `\`svc-gateway ${name} ${command.usage()}\`: ${command.description()}`,
    renderArguments(command),
    renderOptions(command, shared),
    ['```sh', ...examples, '```'].join('\n'),
  ]
}

const keyOf = ({ flags, description }: Command['options'][number]): string => `${flags} ${description}`

const renderArguments = ({ registeredArguments }: Command): string =>
  registeredArguments.map((one) => `- \`${one.name()}\`: ${one.description}`).join('\n')

/** The options that commands share are described once. */
function renderOptions({ options }: Command, shared: ReadonlySet<string>): string {
  const rows = options
    .filter((option) => !option.hidden && !shared.has(keyOf(option)))
    .map(({ flags, description, argChoices = [], defaultValue }) => {
      const choices = argChoices.length > 0 ? `: ${argChoices.map((one) => `\`${one}\``).join(', ')}` : ''
      const fallback = ['string', 'number'].includes(typeof defaultValue) ? ` (default: \`${defaultValue}\`)` : ''
      return `| \`${flags}\` | ${escapeCell(description)}${choices}${fallback} |`
    })
  return rows.length > 0 ? ['| Option | Meaning |', '|---|---|', ...rows].join('\n') : ''
}

const escapeCell = (text: string): string => text.replaceAll('|', String.raw`\|`).replaceAll(/<(\w+)>/g, '&lt;$1&gt;')

/** The examples at the end of the help. */
function readExamples(command: Command): string[] {
  let help = ''
  command.configureOutput({ writeOut: (text) => void (help += text) }).outputHelp()
  return [...help.matchAll(/^ {2}\$ (.+)$/gm)].map(([, line = '']) => line)
}

if (import.meta.main) writeFileSync(page, renderPage(readFileSync(page, 'utf8')))
