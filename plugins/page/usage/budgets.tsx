// The budgets: how much of each is used, what happens at its limit, and when it opens again.
import { useApp } from '../app/app.ts'
import { useLoaded } from '../app/pages.ts'
import { usePolling } from '../app/use-polling.ts'
import { type Budget, formatShare, nearShare, subjectOf, type Use, usesOf } from '../ui/budgets.ts'
import { Badge, Notice, Section, Time } from '../ui/parts.tsx'

const pollMs = 15_000

export function Budgets() {
  const { call } = useApp()
  const budgets = useLoaded('budgets', () => call('GET /api/budgets'))
  usePolling(pollMs, () => void budgets.reload())
  const items = budgets.value.value?.items
  return (
    <Section title="Budgets">
      {budgets.state.value === 'failed' && <Notice tone="bad">{budgets.error.value}</Notice>}
      {items?.length === 0 && (
        <p class="muted">
          None. With <code>budget</code>, what runs may use in a window of time is limited.
        </p>
      )}
      {items !== undefined && items.length > 0 && (
        <ul class="rows card" aria-label="Budgets">
          {items.map((budget) => (
            <li key={budget.key}>
              <Row budget={budget} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function Row({ budget }: { budget: Budget }) {
  const { key, per, onLimit, endsAt, isUsedUp } = budget
  return (
    <div class="row budget-row">
      <div class="break">
        <strong>{subjectOf(budget)}</strong> per {per} {isUsedUp && <Badge tone="bad">used up</Badge>}
        <div class="muted small">
          <code>{key}</code>
        </div>
      </div>
      <div class="stack">
        {usesOf(budget).map((use) => (
          <UseBar key={use.text} use={use} label={key} />
        ))}
      </div>
      <span class="muted small end">
        {isUsedUp ? `webhooks ${onLimit === 'wait' ? 'wait' : 'are refused'}; opens again ` : 'resets '}
        <Time at={endsAt} />
      </span>
    </div>
  )
}

function UseBar({ use: { text, share }, label }: { use: Use; label: string }) {
  const percent = Math.min(100, share * 100)
  const tone = share >= 1 ? 'bad' : share >= nearShare ? 'warn' : 'good'
  return (
    <div class="use">
      <span class="small">
        {text} <span class="muted">{formatShare(share)}</span>
      </span>
      <div
        class="bar-track"
        role="meter"
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={Math.floor(percent)}
        aria-valuetext={text}
      >
        <span class={`bar-fill ${tone}`} style={{ left: '0', width: `${percent}%` }} />
      </div>
    </div>
  )
}
