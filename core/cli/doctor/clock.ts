// Checks the clock of this machine against the model servers and the gateway.
import type { Finding, Outcome } from './finding.ts'
import type { ServerDate } from './gateway/state.ts'
import type { Subject } from './subject.ts'

export async function checkClock({ modelAnswers, gateway }: Subject): Promise<Outcome> {
  const state = await gateway
  const dates = [...(await modelAnswers).map(({ date }) => date), state.state === 'running' ? state.date : undefined]
  const known = dates.filter((date) => date !== undefined)
  return known.length === 0 ? { skipped: 'no server told the time' } : findClockProblem(known)
}

const warnMs = 60_000
/** The tolerance of signatures. */
const toleranceMs = 300_000

/** If one server agrees with this machine, the clocks of the others are wrong. */
function findClockProblem(dates: readonly ServerDate[]): Finding[] {
  const [nearest] = dates.toSorted((a, b) => Math.abs(a.aheadMs) - Math.abs(b.aheadMs))
  if (nearest === undefined || Math.abs(nearest.aheadMs) <= warnMs) return []
  const { host, aheadMs } = nearest
  const isOutside = Math.abs(aheadMs) > toleranceMs
  const effect = isOutside ? 'signed webhooks are rejected' : 'from 5 minutes on, signed webhooks are rejected'
  const difference = `${Math.round(Math.abs(aheadMs) / 1000)} seconds ${aheadMs > 0 ? 'slow' : 'fast'}`
  return [
    {
      id: 'clock_wrong',
      severity: isOutside ? 'error' : 'warning',
      where: host,
      problem: `The clock of this machine is ${difference}, compared with ${host}; ${effect}.`,
      fix: 'Synchronize the clock, for example with: timedatectl set-ntp true',
    },
  ]
}
