// Retries all failed runs of a filter, one after the other, and says how far it is.
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Item } from '../api/client.ts'
import { messageOf, useApp } from '../app/app.ts'
import type { Location } from '../app/router.ts'
import { Dialog } from '../ui/dialog.tsx'
import { plural } from '../ui/format.ts'
import { Button, Notice } from '../ui/parts.tsx'
import { filterOf } from './filter.ts'

type Run = Item<'GET /api/runs'>

/** More than these are not retried at once: the reader should look at what happened first. */
const maxRuns = 1_000

interface Progress {
  retried: number
  refused: number
  problem?: string
}

export function RetryAll({ query, onClose }: { query: Location['query']; onClose(): void }) {
  const { call } = useApp()
  const [runs, setRuns] = useState<Run[]>()
  const [problem, setProblem] = useState<string>()
  const [progress, setProgress] = useState<Progress>()
  const isStopped = useRef(false)

  useEffect(() => {
    const find = async (): Promise<void> => {
      const found: Run[] = []
      let cursor: string | undefined
      do {
        const page = await call('GET /api/runs', {
          query: { ...filterOf(query), cursor, limit: 200 },
        })
        found.push(...page.items.filter(({ retriedAs }) => retriedAs === undefined))
        cursor = page.next
      } while (cursor !== undefined && found.length < maxRuns && !isStopped.current)
      setRuns(found.slice(0, maxRuns))
    }
    find().catch((error: unknown) => setProblem(messageOf(error)))
    return () => void (isStopped.current = true)
  }, [])

  const retry = async (): Promise<void> => {
    const state: Progress = { retried: 0, refused: 0 }
    for (const { id } of runs ?? []) {
      if (isStopped.current) break
      try {
        await call('POST /api/runs/{id}/retry', { path: { id } })
        state.retried += 1
      } catch (error) {
        state.refused += 1
        state.problem = messageOf(error)
      }
      setProgress({ ...state })
    }
  }

  const isDone = progress !== undefined && progress.retried + progress.refused === runs?.length
  return (
    <Dialog
      title="Retry all runs of the filter"
      onClose={onClose}
      actions={
        isDone ? (
          <Button kind="primary" onClick={onClose}>
            Done
          </Button>
        ) : (
          <>
            <Button onClick={onClose}>{progress ? 'Stop' : 'Go back'}</Button>
            <Button kind="primary" disabled={!runs || runs.length === 0} onClick={retry}>
              {runs ? `Retry ${plural(runs.length, 'run')}` : 'Looking…'}
            </Button>
          </>
        )
      }
    >
      {problem !== undefined && <Notice tone="bad">{problem}</Notice>}
      <p>
        Each run starts again as a new run, in the same session and with the same message. Runs that were retried
        already are left out.
      </p>
      {progress && (
        <p role="status">
          {`${plural(progress.retried, 'run')} retried of ${runs?.length ?? 0}.`}
          {progress.refused > 0 &&
            ` ${plural(progress.refused, 'run')} could not be retried: ${progress.problem ?? ''}`}
        </p>
      )}
    </Dialog>
  )
}
