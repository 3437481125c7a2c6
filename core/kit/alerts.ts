// Alerts in the form of Prometheus: what Alertmanager sends, and Grafana with more links.
import { hash } from 'node:crypto'
import { type Static, Type } from '../typebox.ts'
import { Maybe } from './payload.ts'
import { line, lines, words } from './text.ts'

const Text = Maybe(Type.String())

/** Labels or annotations. Their values are texts; numbers and truth values are shown, too. */
export const Labels = Maybe(Type.Record(Type.String(), Type.Unknown()))

/** One alert. All of its fields may be missing. */
export const Alert = Type.Object({
  status: Text,
  labels: Labels,
  annotations: Labels,
  valueString: Text,
  startsAt: Text,
  endsAt: Text,
  generatorURL: Text,
  silenceURL: Text,
  dashboardURL: Text,
  panelURL: Text,
})
/** One alert. All of its fields may be missing. */
export type Alert = Static<typeof Alert>

const mostAlerts = 20
const mostDetails = 6000

/** A label as one line; empty if there is none. */
export const labelOf = (labels: Alert['labels'], name: string): string => {
  return Object.hasOwn(labels ?? {}, name) ? textOf(labels?.[name], 150) : ''
}

const textOf = (value: unknown, length: number): string =>
  ['string', 'number', 'bigint', 'boolean'].includes(typeof value) ? line(String(value), length) : ''

/**
 * How many alerts fire and how many are over: `2 firing, 1 resolved`. `unsent` is how many alerts the service itself
 * has left out: `2 firing, and 3 more that were not sent`.
 */
export function countAlerts(alerts: readonly Alert[], unsent = 0): string {
  const resolved = alerts.filter(isResolved).length
  const firing = alerts.length - resolved
  const more = wholeNumber(unsent)
  return [
    firing > 0 && `${firing} firing`,
    resolved > 0 && `${resolved} resolved`,
    more > 0 && `and ${more} more that ${more === 1 ? 'was' : 'were'} not sent`,
  ]
    .filter(Boolean)
    .join(', ')
}

const wholeNumber = (count: number): number => (Number.isSafeInteger(count) && count > 0 ? count : 0)

/** The names of the alerts: `DiskFull`, `DiskFull and HighLoad`, or `DiskFull, HighLoad and 3 others`. */
export function alertNames(alerts: readonly Alert[]): string {
  const names = [...new Set(alerts.map(({ labels }) => labelOf(labels, 'alertname')).filter(Boolean))]
  const [first, second] = names
  if (names.length <= 2) return names.join(' and ')
  const others = names.length - 2
  return `${first}, ${second} and ${others} ${others === 1 ? 'other' : 'others'}`
}

/**
 * What all notifications of a group of alerts have in common, for the session: the name that the group is about, or else
 * its key. The names of the alerts that fire at the moment may change with each notification.
 */
export function alertGroup(
  { groupKey, groupLabels }: { groupKey?: string | null | undefined; groupLabels?: Alert['labels'] },
  nameLabels: readonly string[] = ['alertname'],
): string {
  const name = nameLabels.map((label) => labelOf(groupLabels, label)).find(Boolean)
  return name || shortened(line(groupKey, 10_000))
}

/** Two long keys may begin in the same way. */
const shortened = (key: string): string =>
  key.length > 150 ? `${key.slice(0, 100).toWellFormed()} ${hash('sha256', key).slice(0, 32)}` : key

/**
 * Lists alerts, those that fire first: one line for each of the first 20, and below it its annotations and links, as
 * far as they fit in 6000 characters together. The last lines say what is left out. `unsent` is how many alerts the
 * service itself has left out.
 */
export function listAlerts(alerts: readonly Alert[], unsent = 0): string {
  const sorted = [...alerts.filter((alert) => !isResolved(alert)), ...alerts.filter(isResolved)]
  let [length, short] = [0, 0]
  const shown = sorted.slice(0, mostAlerts).map((alert) => {
    const details = detailsOf(alert)
    if ((length += details.length) <= mostDetails) return lines(headOf(alert), details)
    short += 1
    return headOf(alert)
  })
  const [hidden, left] = [alerts.length - shown.length, wholeNumber(unsent)]
  return lines(
    ...shown,
    short > 0 && `… the annotations and links of ${short} of these alerts are left out`,
    hidden > 0 && `… and ${hidden} more ${hidden === 1 ? 'alert' : 'alerts'}`,
    left > 0 && `… and ${left} more ${left === 1 ? 'alert' : 'alerts'}, which the service left out`,
  )
}

const isResolved = ({ status }: Alert): boolean => status === 'resolved'

function headOf(alert: Alert): string {
  const { status, labels, startsAt, endsAt } = alert
  const time = isResolved(alert) ? timeText('until', endsAt) : timeText('since', startsAt)
  const where = pairsOf(labels, { mark: '=', length: 100, most: 20, without: 'alertname' }).join(' ')
  return words(
    `- ${line(status, 20) || 'alert'}:`,
    labelOf(labels, 'alertname'),
    where && `(${line(where, 200)})`,
    time,
  )
}

function detailsOf(alert: Alert): string {
  const { annotations } = alert
  const link = alert.panelURL || alert.dashboardURL || alert.generatorURL
  return lines(
    alert.valueString && `  values: ${line(alert.valueString)}`,
    ...pairsOf(annotations, { mark: ': ', length: 500, most: 8 }).map((pair) => `  ${pair}`),
    link && `  ${line(link, 500)}`,
    !isResolved(alert) && alert.silenceURL && `  to silence it: ${line(alert.silenceURL, 500)}`,
  )
}

/** Year 1 stands for a time that is not known. */
const timeText = (preposition: string, time: string | null | undefined): string =>
  time && !time.startsWith('0001-') ? `${preposition} ${line(time, 50)}` : ''

function pairsOf(
  labels: Alert['labels'],
  { mark, length, most, without }: { mark: string; length: number; most: number; without?: string },
): string[] {
  const pairs = Object.entries(labels ?? {}).flatMap(([name, value]) => {
    const text = name === without ? '' : textOf(value, length)
    return text === '' ? [] : [`${line(name, 60)}${mark}${text}`]
  })
  const more = pairs.length - most
  return more > 0 ? [...pairs.slice(0, most), `and ${more} more`] : pairs
}
