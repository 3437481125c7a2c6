// Counts the runs of each hook, with the control API of the running gateway.
import type { CommandContext } from 'svc-gateway/plugin'

interface Input {
  status?: string
  /** ISO 8601. */
  since?: string
  json?: boolean
}

/** What the control API says of a run, as far as it is needed. */
interface Run {
  origin: { name: string }
  createdAt: string
}

export async function countRuns(
  { status, since = '', json }: Input,
  { control, terminal }: CommandContext<'control'>,
): Promise<void> {
  const counts = new Map<string, number>()
  // The newest runs come first. The list is requested page by page.
  for await (const { origin, createdAt } of control.list<Run>('/api/runs', { kind: 'hook', status })) {
    if (createdAt < since) break
    counts.set(origin.name, (counts.get(origin.name) ?? 0) + 1)
  }
  const hooks = Array.from(counts, ([hook, runs]) => ({ hook, runs }))
  await terminal.printList(hooks, {
    noun: 'hooks with runs',
    json,
    columns: { HOOK: ({ hook }) => hook, RUNS: ({ runs }) => String(runs) },
  })
}
