// Shows how two texts differ, line by line.
import { structuredPatch } from 'diff'
import { useMemo } from 'preact/hooks'

interface DifferenceProps {
  label: string
  before: string
  after: string
}

/** Each line begins with its sign, so that the difference does not depend on colors. */
export function Difference({ label, before, after }: DifferenceProps) {
  const hunks = useMemo(() => structuredPatch('', '', before, after, '', '', { context: 3 }).hunks, [before, after])
  if (hunks.length === 0) return <p class="muted">There is no difference.</p>
  return (
    // It scrolls, so the keyboard must reach it.
    <div class="difference" tabIndex={0} role="group" aria-label={label}>
      {hunks.map(({ newStart, lines }) => (
        <div key={newStart}>
          <div class="hunk">{`Line ${newStart}`}</div>
          {lines.map((line, index) => (
            <div key={index} class={kinds[line[0] ?? ' ']}>
              {line}
            </div>
          ))}
        </div>
      ))}
    </div>
  )
}

const kinds: Readonly<Record<string, string>> = { '+': 'added', '-': 'removed' }
