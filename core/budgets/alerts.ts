// Alerts a person when 80 % and 100 % of a budget are used, once in each window, whichever gateway notices it first.
import { createOutage } from '../outage.ts'
import type { Log } from '../plugin/plugin.ts'
import type { Recipient } from '../store/run-spec.ts'
import type { NewDelivery, Store } from '../store/store.ts'
import { describeOpening, describeUse, findShare, findTightest, formatEnd, type Tally } from './budget.ts'
import { createUnderWay } from '../under-way.ts'
import { findSpenders, type Spenders } from './spenders.ts'

export interface Alerts {
  /** Sends an alert if the budget has reached a level that was not reported in its window. */
  check(tally: Tally): void
  /** Checks each budget again, because the configuration has changed. */
  reset(): void
  /** Resolves when no alert is under way. */
  close(): Promise<void>
}

type Address = Pick<NewDelivery, 'channel' | 'accountId' | 'to' | 'threadId' | 'route'>

interface AlertsDeps {
  store: Pick<Store, 'alertBudget' | 'listUsage'>
  /** The person to alert. Undefined: nobody. */
  recipient(): Recipient | undefined
  resolve(recipient: Recipient): Promise<{ address: Address } | { reason: string }>
  timezone(): string
  onDeliveries(): void
  createId: () => string
  now(): number
  log: Log
}

export function createAlerts(deps: AlertsDeps): Alerts {
  const { store, log } = deps
  /** The window and the level of the last alert, by the key of the budget. */
  const reported = new Map<string, { window: number; level: number }>()
  const underWay = createUnderWay()
  const outage = createOutage(log, {
    failed: 'a budget alert could not be stored; it is tried again',
    worked: 'budget alerts are stored again',
  })

  function check(tally: Tally): void {
    const percent = findShare(tally) * 100
    if (percent < 80) return
    const level = percent < 100 ? 80 : 100
    const { budget, window } = tally
    const last = reported.get(budget.key)
    if (last && last.window === window.start && last.level >= level) return
    reported.set(budget.key, { window: window.start, level })
    void underWay.add(
      report({ ...tally, used: { ...tally.used } }, level).then(
        () => void outage.worked(),
        (error: unknown) => {
          outage.failed(error)
          reported.delete(budget.key)
        },
      ),
    )
  }

  async function report(tally: Tally, level: number): Promise<void> {
    const text = renderAlert(tally, { level, timezone: deps.timezone(), spenders: await findSpenders(store, tally) })
    log.warn({ budget: tally.budget.key, percent: level }, text.split('\n', 1)[0] ?? '')
    const recipient = deps.recipient()
    if (!recipient) return
    const found = await deps.resolve(recipient)
    if (!('address' in found))
      return log.warn({ budget: tally.budget.key, reason: found.reason }, 'a budget alert has no recipient')
    const delivery = {
      id: deps.createId(),
      runId: '',
      ...found.address,
      text,
      status: 'pending',
      reason: null,
    } as const
    const name = `${tally.budget.key} ${level}`
    if (await store.alertBudget({ name, window: tally.window.start, delivery }, deps.now())) deps.onDeliveries()
  }

  return {
    check,
    reset: () => reported.clear(),
    close: underWay.settled,
  }
}

interface AlertText {
  level: number
  timezone: string
  spenders: Spenders
}

function renderAlert(tally: Tally, { level, timezone, spenders }: AlertText): string {
  const { key } = tally.budget
  const use = describeUse(tally, findTightest(tally))
  const title =
    level === 100
      ? `The budget ${key} is used up: ${use}. ${describeOpening(tally, timezone)}`
      : `${level} % of the budget ${key} is used: ${use}. A new window begins at ${formatEnd(tally, timezone)}.`
  const most = spenders.map(({ what, name, percent }) => `${what} ${name} (${percent} %)`)
  return [
    title,
    ...(most.length > 0 ? [`Most of it was used by ${most.join(', ')}.`] : []),
    `To change the limit, edit ${key} in the configuration.`,
  ].join('\n')
}
