// Checks an account against its platform, and prints a report that holds no secret, no recipient and no text.
import { type CommandContext, CommandError } from 'svc-gateway/plugin'

interface Step {
  name: string
  outcome: 'passed' | 'failed' | 'skipped'
  detail: string
  ms: number
}

interface Input {
  name: string
  to: string
  thread?: string
  account?: string
  json?: boolean
}

export async function check(
  { name, to, thread: threadId, account, json }: Input,
  { control, terminal }: CommandContext<'control'>,
): Promise<void> {
  const path = `/api/channels/${encodeURIComponent(name)}/check`
  const report = await control.post<{ checks: Step[] }>(path, { to, threadId, account })
  const failed = report.checks.filter(({ outcome }) => outcome === 'failed')
  if (json) terminal.printJson(report)
  else await print(name, report.checks, terminal)
  if (failed.length > 0) throw new CommandError(`${failed.length} of ${report.checks.length} steps failed.`)
}

async function print(name: string, checks: readonly Step[], terminal: CommandContext['terminal']): Promise<void> {
  await terminal.printList(checks, {
    noun: 'steps',
    columns: {
      STEP: (step) => step.name,
      RESULT: ({ outcome }) => outcome,
      MS: ({ ms }) => String(ms),
      'LOOK FOR': ({ detail }) => detail,
    },
  })
  terminal.print(`Passed means that ${name} accepted it. Compare what has arrived with the last column.`)
}
