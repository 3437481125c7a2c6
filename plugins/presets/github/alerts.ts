// Alerts of Dependabot, code scanning and secret scanning, and security advisories.
import { entryOf, plain, quote, refName, words } from 'svc-gateway/kit'
import { type EventHandler } from './event-text.ts'
import type { Payload } from './payload.ts'

/** The oldest of these events uses the imperative for its action. */
const pastOf: Readonly<Record<string, string>> = {
  create: 'created',
  dismiss: 'dismissed',
  reopen: 'reopened',
  resolve: 'resolved',
}

/** `created` becomes `was created`, and `appeared_in_branch` stays as it is. */
function pastTense(action: string | null | undefined): string {
  if (action === 'appeared_in_branch') return 'appeared in a branch'
  return `was ${entryOf(pastOf, action) ?? (plain(action) || 'changed')}`
}

export const describeDependencyAlert =
  (kind: string): EventHandler =>
  ({ action, alert }) => {
    const where = alert?.dependency?.package?.name ?? alert?.affected_package_name
    const { severity, summary } = alert?.security_advisory ?? {}
    const about = words(severity && `(${severity})`, quote(summary), `for ${where ?? 'a dependency'}`)
    return { head: `The ${kind} ${about} ${pastTense(action)}`, link: alert?.html_url }
  }

export const describeCodeAlert: EventHandler = ({ action, alert, ref }) => {
  const rule = alert?.rule
  const about = words(rule?.severity && `(${rule.severity})`, quote(rule?.description || rule?.id))
  const where = action === 'appeared_in_branch' && ref ? `appeared in ${refName(ref)}` : pastTense(action)
  return { head: words('The code scanning alert', about, where), link: alert?.html_url }
}

/** The secret itself is not in the message. */
export const describeSecretAlert: EventHandler = ({ action, alert }) => ({
  head: words('The secret scanning alert', secretOf(alert), pastTense(action)),
  details: [action === 'resolved' && alert?.resolution && `Resolution: ${plain(alert.resolution)}`],
  link: alert?.html_url,
})

export const describeSecretLocation: EventHandler = ({ action, alert }) =>
  action === 'created'
    ? {
        head: words('The secret of the secret scanning alert', secretOf(alert), 'was found in another place'),
        link: alert?.html_url,
      }
    : null

const secretOf = (alert: Payload['alert']): string =>
  words(alert?.number ? `#${alert.number}` : '', quote(alert?.secret_type_display_name || plain(alert?.secret_type)))

export const describeAdvisory: EventHandler = ({ action, ...payload }) => {
  if (action !== 'published' && action !== 'reported') return null
  const advisory = payload.repository_advisory ?? payload.security_advisory
  const name = words('Security advisory', advisory?.ghsa_id, advisory?.severity && `(${advisory.severity})`)
  return { head: words(name, quote(advisory?.summary), `was ${action}`), link: advisory?.html_url }
}
