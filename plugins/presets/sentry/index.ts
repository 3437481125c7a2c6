// The preset for Sentry: new and changed issues, alerts, comments; one session per issue.
import { entryOf, eventMessage, line, Maybe, quote, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
// A project object, or its name or number.
const Project = Maybe(Type.Union([Type.String(), Type.Number(), Type.Object({ name: Text, slug: Text })]))

const Assignee = Maybe(Type.Union([Type.String(), Type.Object({ name: Text, email: Text, type: Text })]))

/** An issue, or an event of an issue. */
const Problem = Maybe(
  Type.Object({
    id: Id,
    event_id: Id,
    issue_id: Id,
    issue_url: Text,
    shortId: Text,
    title: Text,
    culprit: Text,
    level: Text,
    message: Text,
    firstSeen: Text,
    environment: Text,
    project: Project,
    assignedTo: Assignee,
    substatus: Text,
    count: Id,
    userCount: Maybe(Type.Number()),
    // The address of an event in Sentry's API, which names the project.
    url: Text,
    project_url: Text,
    web_url: Text,
    permalink: Text,
    metadata: Maybe(Type.Object({ value: Text })),
  }),
)

const Payload = Type.Object({
  action: Text,
  actor: Maybe(Type.Object({ name: Text, type: Text })),
  data: Maybe(
    Type.Object({
      issue: Problem,
      event: Problem,
      error: Problem,
      triggered_rule: Text,
      metric_alert: Maybe(
        Type.Object({ id: Id, date_started: Text, alert_rule: Maybe(Type.Object({ id: Id, name: Text })) }),
      ),
      description_title: Text,
      description_text: Text,
      web_url: Text,
      comment: Text,
      issue_id: Id,
      project_slug: Text,
      installation: Maybe(Type.Unknown()),
    }),
  ),
  // From the legacy webhooks plugin:
  event: Problem,
  /** The id of the issue. */
  id: Id,
  project_name: Text,
  project_slug: Text,
  culprit: Text,
  level: Text,
  message: Text,
  url: Text,
  triggering_rules: Maybe(Type.Array(Type.String())),
})
type Payload = Static<typeof Payload>
type Problem = NonNullable<Payload['event']>
type Id = Problem['id']

const preset = definePreset<Payload>({
  name: 'sentry',
  description: 'Issues and alerts of Sentry.',
  payload: Payload,
  mapping: { name: 'Sentry' },
  auth: { scheme: 'sentry' },
  deliveryId: ({ headers }) => headers['request-id'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

const silent: ReadonlySet<unknown> = new Set(['ignored', 'archived', 'uninstalled', 'deleted'])

/** Requests for other resources are skipped, whatever they contain. */
const known: ReadonlySet<unknown> = new Set([
  undefined,
  'issue',
  'event_alert',
  'activity_alert',
  'metric_alert',
  'error',
  'comment',
])

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const { action, data } = payload
  const resource = headers['sentry-hook-resource']
  if (!known.has(resource) || data?.installation || silent.has(action)) return null
  if (data?.metric_alert) return describeMetric(data, action)
  if (resource === 'comment' || typeof data?.comment === 'string') return describeComment(payload)
  if (data?.issue) return describeProblem(issueVerb(payload, data.issue), data.issue, data.issue.id)
  const event = data?.event ?? data?.error
  if (event) return describeProblem(alertVerb(data?.triggered_rule), event, undefined)
  if (payload.event ?? payload.url) return describeLegacy(payload)
  throw new InputError('data is required; it contains the issue, the event or the alert.')
}

const alertVerb = (rule: string | null | undefined): string =>
  rule ? `alert ${quote(rule, 100)}` : 'an error happened'

function issueVerb({ action, actor, data }: Payload, { assignedTo, substatus }: Problem): string {
  if (action === 'created') return 'new issue'
  if (action === 'triggered') return data?.triggered_rule ? alertVerb(data.triggered_rule) : 'alert of an issue'
  const assignee = line(typeof assignedTo === 'string' ? assignedTo : assignedTo?.name || assignedTo?.email, 100)
  const details: Record<string, string | null | undefined | false> = {
    assigned: assignee && `to ${assignee}`,
    unresolved: (substatus === 'regressed' || substatus === 'escalating') && `(${substatus})`,
  }
  const by = line(actor?.name, 100)
  return words('issue', line(action, 50) || 'changed', entryOf(details, action), by && `by ${by}`)
}

/** The event has an id of its own: the session is that of the issue, whose id is beside the event. */
function describeLegacy({ event, id, triggering_rules: rules, url, ...payload }: Payload) {
  const project = payload.project_name ?? payload.project_slug
  const problem = {
    ...payload,
    ...event,
    level: event?.level ?? payload.level,
    culprit: event?.culprit ?? payload.culprit,
    message: event?.message || payload.message,
    ...(project && { project }),
    web_url: undefined,
    permalink: url,
  }
  return describeProblem(alertVerb(rules?.slice(0, 10).join(', ')), problem, id)
}

function describeProblem(what: string, problem: Problem, issueId: Id) {
  const { title, shortId, culprit, level, environment, count, userCount, metadata, message, firstSeen } = problem
  const name = line(projectOf(problem), 100)
  const subject = [line(title || metadata?.value || message), shortId && `(${line(shortId, 50)})`]
  const where = words(culprit && `in ${line(culprit)}`, environment && `on ${line(environment, 100)}`)
  const value = metadata?.value || message
  return {
    message: eventMessage('Sentry', {
      head: `${words(what, name && `in ${name}`)}: ${words(...subject) || 'an error without a title'}`,
      details: [
        where && `Where: ${where}`,
        level && `Level: ${level}`,
        count ? words(`Seen ${count} times`, userCount ? `by ${userCount} users` : '') : undefined,
        firstSeen && `Since: ${firstSeen}`,
      ],
      link: problem.web_url ?? problem.permalink,
      text: value && !title?.includes(value) ? value : undefined,
    }),
    sessionKey: `hook:sentry:${sessionOf(problem, issueId)}`,
  }
}

/** Some events name their issue only in an address. An event without an issue has a session of its own. */
function sessionOf({ issue_id, issue_url, web_url, permalink, event_id }: Problem, issueId: Id): string {
  const addresses = [issue_url, web_url, permalink]
  const inAddress = addresses.map((address) => /\/issues\/(\d{1,30})/.exec(address ?? '')?.[1]).find(Boolean)
  const id = issueId ?? issue_id ?? inAddress ?? (event_id ? `event-${event_id}` : 'sentry')
  return line(String(id), 200) || 'sentry'
}

/** An event has only the number of its project; the address of the event has the name. */
function projectOf({ project, url, project_url: page }: Problem): string | undefined {
  if (typeof project === 'object' && project) return project.name ?? project.slug ?? undefined
  if (typeof project === 'string' && !/^\d+$/.test(project)) return project || undefined
  return /\/projects\/[^/]+\/([^/?]+)/.exec(line(url ?? page, 1000))?.[1]
}

function describeMetric(
  {
    metric_alert: alert,
    description_title: title,
    description_text: text,
    web_url: link,
  }: NonNullable<Payload['data']>,
  action: Payload['action'],
) {
  const rule = alert?.alert_rule
  return {
    message: eventMessage('Sentry', {
      head: `${words('metric alert', line(action, 50))}: ${line(title || rule?.name) || 'no title'}`,
      details: [alert?.date_started && `Since: ${alert.date_started}`],
      link,
      text,
    }),
    sessionKey: `hook:sentry:alert:${line(String(rule?.id ?? alert?.id ?? 'metric'), 200)}`,
  }
}

/** Comments of integrations are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment({ action, actor, data }: Payload) {
  if (action !== 'created' || actor?.type === 'application') return null
  const id = line(String(data?.issue_id ?? ''), 200)
  const project = line(data?.project_slug, 100)
  const issue = words('issue', id, project && `in ${project}`)
  return {
    message: eventMessage('Sentry', {
      head: `${line(actor?.name, 100) || 'Somebody'} commented on ${issue}`,
      text: data?.comment,
    }),
    sessionKey: `hook:sentry:${id || 'sentry'}`,
  }
}
