// How long a run took, or has taken so far.
import type { Item } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { formatDuration } from '../ui/format.ts'

export function RunDuration({ run }: { run: Pick<Item<'GET /api/runs'>, 'startedAt' | 'endedAt' | 'status'> }) {
  const { now } = useApp()
  if (run.startedAt === undefined) return <>–</>
  const end = run.endedAt === undefined ? Math.max(now.value, Date.parse(run.startedAt)) : Date.parse(run.endedAt)
  return <>{formatDuration(end - Date.parse(run.startedAt))}</>
}
