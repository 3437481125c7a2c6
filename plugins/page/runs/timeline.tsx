// The timeline of a run: its attempts and steps on one scale of time, live while it runs. A step unfolds to what was
// said, the arguments, the verdict and the result.
import { useEffect, useState } from 'preact/hooks'
import type { Item, Reply } from '../api/client.ts'
import { useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import { useLive } from '../app/use-live.ts'
import { useSoon } from '../app/use-soon.ts'
import { formatCost, formatCount, formatDuration } from '../ui/format.ts'
import { Json } from '../ui/json.tsx'
import { Badge, Code, Facts, Notice, Section, Status, toneOf } from '../ui/parts.tsx'

type Run = Reply<'GET /runs/{id}'>
type Step = Item<'GET /runs/{id}/steps'>

/** A run has rarely more steps. The rest is read with the API. */
const maxSteps = 1_000
/** How soon the steps of a run that is going on are loaded again. */
const reloadMs = 400

export function Timeline({ run }: { run: Run }) {
  const { call } = useApp()
  const { id } = run
  const steps = useLoaded(`steps ${id}`, async () => {
    const found: Step[] = []
    let cursor: string | undefined
    do {
      const page = await call('GET /runs/{id}/steps', { path: { id }, query: { cursor, limit: 200 } })
      found.push(...page.items)
      cursor = page.next
    } while (cursor !== undefined && found.length < maxSteps)
    return found
  })
  const reloadSoon = useSoon(reloadMs, steps.reload)
  useLive('step', (changes) => {
    if (changes.some(({ runId }) => runId === id)) reloadSoon()
  })
  useEffect(reloadSoon, [run.status])
  const all = steps.value.value ?? []
  if (steps.state.value === 'failed') return <Notice tone="bad">{steps.error.value}</Notice>
  if (all.length === 0 && run.attempts.length === 0) return null
  return (
    <Section title="Timeline">
      <Steps run={run} steps={all} />
    </Section>
  )
}

function Steps({ run, steps }: { run: Run; steps: readonly Step[] }) {
  const { now } = useApp()
  const start = Date.parse(run.createdAt)
  const end = run.endedAt === undefined ? now.value : Date.parse(run.endedAt)
  const scale = {
    start,
    end: Math.max(end, start + 1, ...steps.map(({ endedAt }) => Date.parse(endedAt ?? run.createdAt))),
  }
  return (
    <ol class="timeline card">
      {run.queuedMs !== undefined && (
        <li class="step-line">
          <span class="muted">queued</span>
          <Bar from={start} to={start + run.queuedMs} scale={scale} tone="plain" />
          <span class="muted end small">{formatDuration(run.queuedMs)}</span>
        </li>
      )}
      {run.attempts.map(({ startedAt, endedAt, reason }, index) => (
        <>
          {run.attempts.length > 1 && (
            <li key={startedAt} class="attempt">
              <strong>Attempt {index + 1}</strong>
              <span class="muted">
                {reason}
                {endedAt !== undefined && ` after ${formatDuration(Date.parse(endedAt) - Date.parse(startedAt))}`}
              </span>
            </li>
          )}
          {steps
            .filter(({ attempt }) => attempt === index + 1)
            .map((step) => (
              <li key={step.number}>
                <StepOf step={step} scale={scale} />
              </li>
            ))}
        </>
      ))}
      {run.status === 'running' && !steps.some(({ status }) => status === 'running') && (
        <li class="step-line">
          <span class="what muted">
            <span class="dot info live" /> the model works
          </span>
        </li>
      )}
    </ol>
  )
}

interface Scale {
  start: number
  end: number
}

function StepOf({ step, scale }: { step: Step; scale: Scale }) {
  const { now } = useApp()
  const [isOpen, setOpen] = useState(false)
  const from = Date.parse(step.startedAt)
  const to = step.endedAt === undefined ? Math.max(now.value, from) : Date.parse(step.endedAt)
  return (
    <details class="step" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary class="step-line">
        <span class="what">
          <span class="muted small">{step.kind}</span> <strong>{step.kind === 'model' ? step.model : step.tool}</strong>
          {step.verdict === 'deny' && <Badge tone="bad">denied</Badge>}
          {step.status !== 'succeeded' && <Status of={step.status} />}
          {step.usage?.cost !== undefined && <span class="muted small">{formatCost(step.usage.cost)}</span>}
        </span>
        <Bar from={from} to={to} scale={scale} tone={step.status === 'succeeded' ? step.kind : toneOf(step.status)} />
        <span class="muted end small">{formatDuration(to - from)}</span>
      </summary>
      {isOpen && (
        <div class="inside">{step.kind === 'model' ? <ModelStep step={step} /> : <ToolStep step={step} />}</div>
      )}
    </details>
  )
}

/** Where a step lies in the time of its run. */
function Bar({ from, to, scale, tone }: { from: number; to: number; scale: Scale; tone: string }) {
  const percent = (at: number): number => ((at - scale.start) / (scale.end - scale.start)) * 100
  const left = Math.min(99.4, Math.max(0, percent(from)))
  return (
    <span class="bar-track" aria-hidden="true">
      <span
        class={`bar-fill ${tone}`}
        style={{ left: `${left}%`, width: `${Math.min(100 - left, percent(to) - percent(from))}%` }}
      />
    </span>
  )
}

function ModelStep({ step: { usage, firstTokenMs, finishReason, responseModel, text, error } }: { step: Step }) {
  return (
    <>
      {error !== undefined && <Notice tone="bad">{error}</Notice>}
      <Facts
        of={[
          ['Tokens', usage && `${formatCount(usage.inputTokens)} in, ${formatCount(usage.outputTokens)} out`],
          ['Cost', usage?.cost !== undefined && formatCost(usage.cost)],
          ['From the cache', usage && usage.cachedInputTokens > 0 && formatCount(usage.cachedInputTokens)],
          ['Reasoning', usage && usage.reasoningTokens > 0 && formatCount(usage.reasoningTokens)],
          ['First token', firstTokenMs !== undefined && `after ${formatDuration(firstTokenMs)}`],
          ['Ended with', finishReason],
          ['Answered by', responseModel],
        ]}
      />
      {text !== undefined && text !== '' && <Code label="What the model wrote" text={text} isProse />}
    </>
  )
}

const verdicts = { allow: 'allowed', ask: 'a person decides', deny: 'denied' }

function ToolStep({ step: { args, effects, verdict, rule, result, resultLength, error, thrown } }: { step: Step }) {
  return (
    <>
      <Facts
        of={[
          ['Policy', verdict && verdicts[verdict]],
          ['Rule', rule],
          ['Effects', effects === 'by-call' ? 'depend on the call' : effects?.join(', ')],
          ['Result', resultLength !== undefined && `${formatCount(resultLength)} characters`],
        ]}
      />
      {error !== undefined && <Notice tone="bad">{error}</Notice>}
      {thrown !== undefined && <Notice tone="warn">The tool threw: {thrown}</Notice>}
      {args !== undefined && <Value label="Arguments" value={args} />}
      {result !== undefined && <Value label="Result" value={result} />}
    </>
  )
}

function Value({ label, value }: { label: string; value: unknown }) {
  return (
    <div class="stack">
      <h3>{label}</h3>
      {typeof value === 'object' && value !== null ? (
        <Json label={label} value={value} />
      ) : (
        <Code label={label} text={typeof value === 'string' ? value : JSON.stringify(value)} />
      )}
    </div>
  )
}
