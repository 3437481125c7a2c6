// Alerts of Dependabot, code scanning and secret scanning, and security advisories.
import { entryOf, line, plain, quote, refName, words } from 'svc-gateway/kit'
import { type EventHandler } from './event-text.ts'
import type { Payload } from './payload.ts'

type Alert = NonNullable<Payload['alert']>

/** What a person does to an alert: `ada dismissed the …`. The oldest of these events use the imperative. */
const personActions: Readonly<Record<string, string>> = {
  dismiss: 'dismissed',
  dismissed: 'dismissed',
  closed_by_user: 'dismissed',
  reopened_by_user: 'reopened',
  resolved: 'resolved',
  assignees_changed: 'changed the assignees of',
  validated: 'validated',
}

/** What happens without a person, or of what GitHub does not say who did it. */
const pastTenses: Readonly<Record<string, string>> = {
  create: 'was created',
  reopen: 'was reopened',
  resolve: 'was resolved',
  appeared_in_branch: 'appeared in a branch',
  auto_dismissed: 'was dismissed automatically',
  auto_reopened: 'was reopened automatically',
  publicly_leaked: 'was found in public',
}

/** `created` becomes `The alert … was created`, and `dismissed` becomes `ada dismissed the alert …`. */
function changed(name: string, { action, alert }: Payload, who: string): string {
  const person = entryOf(personActions, action)
  const closer = person === 'dismissed' ? dismisserOf(alert) : person === 'resolved' && alert?.resolved_by?.login
  if (person) return `${closer || who} ${person} the ${name}`
  return `The ${name} ${entryOf(pastTenses, action) ?? `was ${plain(action) || 'changed'}`}`
}

/** Who closed the alert and why, while it is closed. */
function closedText(alert: Alert): (string | false | undefined)[] {
  const [reason, comment] = [alert.dismissed_reason ?? alert.dismiss_reason, alert.dismissed_comment]
  const because = [plain(reason), line(comment)].filter(Boolean).join(', ')
  const by = because && dismisserOf(alert)
  return [because && `Reason: ${because}`, by ? `Dismissed by: ${by}` : undefined]
}

/** The sender of the event may be another one. */
const dismisserOf = (alert: Payload['alert']): string | null | undefined =>
  alert?.dismissed_by?.login ?? alert?.dismisser?.login

export const describeDependencyAlert =
  (kind: string): EventHandler =>
  (payload, who) => {
    const { alert } = payload
    const { dependency, security_vulnerability: found } = alert ?? {}
    const where = dependency?.package?.name ?? alert?.affected_package_name
    const { severity, summary } = alert?.security_advisory ?? {}
    const about = words(severity && `(${severity})`, quote(summary), `for ${where ?? 'a dependency'}`)
    const patched = found?.first_patched_version?.identifier ?? alert?.fixed_in
    const affected = found?.vulnerable_version_range ?? alert?.affected_range
    return {
      head: changed(`${kind} ${about}`, payload, who),
      details: [
        dependency?.manifest_path &&
          `In: ${words(line(dependency.manifest_path), dependency.scope && `(${dependency.scope})`)}`,
        affected && `Affected: ${affected}`,
        patched && `Patched: ${patched}`,
        ...(alert ? closedText(alert) : []),
      ],
      link: alert?.html_url,
    }
  }

/** The branch, or the pull request of `refs/pull/7/merge`. */
const pullNumber = /^refs\/pull\/(\d{1,15})\//

export const describeCodeAlert: EventHandler = (payload, who) => {
  const { action, alert, ref, commit_oid: commit } = payload
  const rule = alert?.rule
  const severity = rule?.security_severity_level || rule?.severity
  const about = words(
    'code scanning alert',
    alert?.number ? `#${alert.number}` : '',
    severity && `(${severity})`,
    quote(rule?.description || rule?.id),
  )
  const instance = alert?.most_recent_instance ?? alert?.instances?.[0]
  const branch = ref || instance?.ref
  const pull = pullNumber.exec(branch ?? '')?.[1]
  const place = pull ? `pull request #${pull}` : refName(branch)
  const { path, start_line: row } = instance?.location ?? {}
  return {
    head: action === 'appeared_in_branch' && place ? `The ${about} appeared in ${place}` : changed(about, payload, who),
    details: [
      path && `At: ${line(path)}${row ? `:${row}` : ''}`,
      place && action !== 'appeared_in_branch' && (pull ? `Pull request: #${pull}` : `Branch: ${place}`),
      (commit || instance?.commit_sha) && `Commit: ${(commit || instance?.commit_sha)?.slice(0, 7)}`,
      alert?.tool?.name && `Found by: ${alert.tool.name}`,
      ...(alert ? closedText(alert) : []),
    ],
    link: alert?.html_url,
    text: instance?.message?.text,
    number: pull ? Number(pull) : undefined,
  }
}

/** The secret itself is not in the message. */
export const describeSecretAlert: EventHandler = (payload, who) => {
  const { action, alert } = payload
  return {
    head: changed(`secret scanning alert ${secretOf(alert)}`.trim(), payload, who),
    details: [
      action === 'resolved' && alert?.resolution && `Resolution: ${plain(alert.resolution)}`,
      action === 'resolved' && alert?.resolution_comment && `Comment: ${line(alert.resolution_comment)}`,
      alert?.validity && alert.validity !== 'unknown' && `The secret is ${plain(alert.validity)}.`,
      alert?.push_protection_bypassed && 'Somebody pushed it although it was detected.',
    ],
    link: alert?.html_url,
  }
}

export const describeSecretLocation: EventHandler = ({ action, alert, location }) => {
  if (action !== 'created') return null
  const { path, start_line: row } = location?.details ?? {}
  return {
    head: words('The secret of the secret scanning alert', secretOf(alert), 'was found in another place'),
    details: [path ? `At: ${line(path)}${row ? `:${row}` : ''}` : location?.type && `In: ${plain(location.type)}`],
    link: alert?.html_url,
  }
}

const secretOf = (alert: Payload['alert']): string =>
  words(alert?.number ? `#${alert.number}` : '', quote(alert?.secret_type_display_name || plain(alert?.secret_type)))

export const describeAdvisory: EventHandler = ({ action, ...payload }) => {
  const pastTense = entryOf(advisoryActions, action)
  if (pastTense === undefined) return null
  const advisory = payload.repository_advisory ?? payload.security_advisory
  const name = words('Security advisory', advisory?.ghsa_id, advisory?.severity && `(${advisory.severity})`)
  return { head: words(name, quote(advisory?.summary), pastTense), link: advisory?.html_url }
}

const advisoryActions: Readonly<Record<string, string>> = {
  published: 'was published',
  reported: 'was reported',
  withdrawn: 'was withdrawn',
}
