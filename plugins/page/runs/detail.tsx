// The detail of a run: its numbers, its reply or error, the timeline of its steps, its deliveries, and the actions.
import { useState } from 'preact/hooks'
import type { Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useMe } from '../app/me.ts'
import { useLoaded } from '../app/pages.ts'
import { formatFragment } from '../app/router.ts'
import { useLive } from '../app/use-live.ts'
import { Confirm } from '../ui/dialog.tsx'
import { formatCost, formatCount, formatDuration, plural } from '../ui/format.ts'
import { DetailHead, LoadedDetail } from '../ui/list.tsx'
import { Button, Code, CopyButton, Facts, Notice, RecordLink, Section, Status, Tiles, Time } from '../ui/parts.tsx'
import { titleOf } from '../ui/run-title.ts'
import { RunDuration } from './run-duration.tsx'
import { Timeline } from './timeline.tsx'

type Run = Reply<'GET /runs/{id}'>

export function Detail({ id, back }: { id: string; back: string }) {
  const { call } = useApp()
  const run = useLoaded(`run ${id}`, () => call('GET /runs/{id}', { path: { id } }))
  useLive('run', (changes) => {
    const changed = changes.findLast((one) => one.id === id)
    if (changed) run.set(changed)
  })
  return (
    <LoadedDetail of={run} noun="run" back={back}>
      {(value) => <Loaded run={value} back={back} />}
    </LoadedDetail>
  )
}

function Loaded({ run, back }: { run: Run; back: string }) {
  const { id, status, reply, error, usage, queuedMs, attempts, deliveries, toolErrors = [] } = run
  return (
    <>
      <DetailHead title={titleOf(run)} back={back} badge={<Status of={status} />} actions={<Actions run={run} />} />
      <div class="body">
        {error && (
          <Notice tone={status === 'queued' ? 'warn' : 'bad'}>
            {error.message} <code class="muted">{error.type}</code>
            {error.detail !== undefined && <div class="muted small break">{error.detail}</div>}
          </Notice>
        )}
        {status === 'waiting' && (
          <Notice tone="warn">
            A call waits until a person has approved it.{' '}
            <a
              href={formatFragment(
                run.waitingFor === undefined
                  ? { view: 'approvals', query: { runId: id } }
                  : { view: 'approvals', item: run.waitingFor },
              )}
            >
              Show it
            </a>
          </Notice>
        )}
        <Tiles
          of={[
            ['Queued', queuedMs === undefined ? '–' : formatDuration(queuedMs)],
            ['Duration', <RunDuration key="duration" run={run} />],
            ['Attempts', attempts.length],
            ['Model calls', usage ? formatCount(usage.steps) : '–'],
            ['Cost', formatCost(usage?.cost)],
            ['Tokens in, out', usage ? `${formatCount(usage.inputTokens)}, ${formatCount(usage.outputTokens)}` : '–'],
          ]}
        />
        {reply !== undefined && (
          <Section title="Reply">
            <Code label="Reply" text={reply} isProse />
          </Section>
        )}
        <Timeline run={run} />
        {toolErrors.length > 0 && (
          <Section title="What tools threw">
            {toolErrors.map(({ tool, message }, index) => (
              <Notice key={index} tone="warn">
                <strong>{tool}</strong> {message}
              </Notice>
            ))}
          </Section>
        )}
        {deliveries.length > 0 && (
          <Section title="Deliveries">
            <ul class="rows card">
              {deliveries.map((delivery) => (
                <li key={delivery.id}>
                  <a class="row run-row" href={formatFragment({ view: 'outbox', item: delivery.id })}>
                    <Status of={delivery.status} />
                    <span>
                      {delivery.channel} {delivery.to} <span class="muted">{delivery.reason}</span>
                    </span>
                  </a>
                </li>
              ))}
            </ul>
          </Section>
        )}
        <Section title="Where it comes from">
          <Facts
            of={[
              ['Started by', `${run.origin.kind} ${run.origin.name}${run.origin.stranger ? ', by a stranger' : ''}`],
              ['Mapping', run.origin.mapping],
              ['Request', run.requestId && <RecordLink key="r" view="requests" id={run.requestId} />],
              [
                'Agent',
                <a key="a" href={formatFragment({ view: 'runs', query: { agentId: run.agentId } })}>
                  {run.agentId}
                </a>,
              ],
              ['Session', <RecordLink key="s" view="sessions" id={run.sessionKey} />],
              ['Model', run.model],
              ['Content', run.origin.trusted ? 'trusted' : 'external, so it is wrapped for the model'],
              ['Narrowed', run.provenance?.explanation],
              ['Started by the run', run.parentRunId && <RecordLink key="p" view="runs" id={run.parentRunId} />],
              [
                'Runs it started',
                run.subagents &&
                  `${plural(run.subagents.runs, 'run')}, ${formatCount(run.subagents.totalTokens)} tokens, ${formatCost(run.subagents.cost)}`,
              ],
              ['Retry of', run.retryOf && <RecordLink key="o" view="runs" id={run.retryOf} />],
              ['Retried as', run.retriedAs && <RecordLink key="n" view="runs" id={run.retriedAs} />],
              ['Next attempt', run.nextAttemptAt && <Time key="t" at={run.nextAttemptAt} />],
              ['Created', <Time key="c" at={run.createdAt} />],
              [
                'Trace',
                run.traceId && (
                  <span key="trace" class="line">
                    <code>{run.traceId}</code>
                    <CopyButton text={run.traceId} label="Copy the trace id" />
                  </span>
                ),
              ],
              ['Id', <code key="i">{id}</code>],
            ]}
          />
        </Section>
      </div>
    </>
  )
}

function Actions({ run: { id, status, retriedAs } }: { run: Run }) {
  const { call, router, toasts } = useApp()
  const { may } = useMe()
  const [isCancelling, setCancelling] = useState(false)
  const retry = async (): Promise<void> => {
    const { runId } = await call('POST /api/runs/{id}/retry', { path: { id } })
    router.go({ view: 'runs', item: runId })
  }
  const cancel = async (): Promise<void> => {
    await call('POST /api/runs/{id}/cancel', { path: { id } })
    toasts.show({ text: 'The run is cancelled.', tone: 'good' })
  }
  const hasFailed = (status === 'failed' || status === 'timed_out') && retriedAs === undefined
  const isActive = status === 'queued' || status === 'running' || status === 'waiting'
  return (
    <>
      {hasFailed && may('POST /api/runs/{id}/retry') && (
        <Button icon="replay" onClick={retry}>
          Retry
        </Button>
      )}
      {isActive && may('POST /api/runs/{id}/cancel') && (
        <Button kind="danger" icon="stop" onClick={() => setCancelling(true)}>
          Cancel
        </Button>
      )}
      {isCancelling && (
        <Confirm
          title="Cancel the run?"
          text="The agent stops. What its tools have done stays done."
          action="Cancel the run"
          onConfirm={cancel}
          onClose={() => setCancelling(false)}
        />
      )}
    </>
  )
}
