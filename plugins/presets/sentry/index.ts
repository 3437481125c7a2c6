// The preset for Sentry: new and changed issues, alerts, comments; one session per issue.
import { Maybe, clip, entryOf, lines, quote, words } from 'svc-gateway/kit'
import { definePreset, InputError, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
// A project object, or its name or number.
const Project = Maybe(Type.Union([Type.String(), Type.Number(), Type.Object({ name: Text, slug: Text })]))

const Assignee = Maybe(Type.Union([Type.String(), Type.Object({ name: Text, email: Text, type: Text })]))

/** An issue, or an event of an issue. */
const Problem = Maybe(
  Type.Object({
    id: Id,
    issue_id: Id,
    shortId: Text,
    title: Text,
    culprit: Text,
    level: Text,
    message: Text,
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
      metric_alert: Maybe(Type.Object({ id: Id, alert_rule: Maybe(Type.Object({ id: Id, name: Text })) })),
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

export default definePreset<Payload>({
  name: 'sentry',
  description: 'Issues and alerts of Sentry.',
  payload: Payload,
  mapping: { name: 'Sentry' },
  auth: { scheme: 'sentry' },
  deliveryId: ({ headers }) => headers['request-id'],
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

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
  if (data?.issue) return describeProblem(issueVerb(payload, data.issue), data.issue)
  const event = data?.event ?? data?.error
  if (event) return describeProblem(alertVerb(data?.triggered_rule), event)
  if (payload.event ?? payload.url) return describeLegacy(payload)
  throw new InputError('data is required; it contains the issue, the event or the alert.')
}

const alertVerb = (rule: string | null | undefined): string => (rule ? `alert ${quote(rule)}` : 'an error happened')

function issueVerb({ action, actor, data }: Payload, { assignedTo, substatus }: Problem): string {
  if (action === 'created') return 'new issue'
  if (action === 'triggered') return data?.triggered_rule ? alertVerb(data.triggered_rule) : 'alert of an issue'
  const assignee = typeof assignedTo === 'string' ? assignedTo : assignedTo?.name || assignedTo?.email
  const details: Record<string, string | null | undefined | false> = {
    assigned: assignee && `to ${assignee}`,
    unresolved: (substatus === 'regressed' || substatus === 'escalating') && `(${substatus})`,
  }
  return words('issue', action ?? 'changed', entryOf(details, action), actor?.name && `by ${actor.name}`)
}

/** The event has an id of its own: the session is that of the issue, whose id is beside the event. */
function describeLegacy({ event, id, triggering_rules: rules, url, ...payload }: Payload) {
  const project = payload.project_name ?? payload.project_slug
  return describeProblem(alertVerb(rules?.join(', ')), {
    ...payload,
    ...event,
    level: event?.level ?? payload.level,
    culprit: event?.culprit ?? payload.culprit,
    message: event?.message || payload.message,
    id: undefined,
    issue_id: id ?? event?.issue_id ?? /\/issues\/(\d+)/.exec(url ?? '')?.[1],
    ...(project && { project }),
    web_url: undefined,
    permalink: url,
  })
}

function describeProblem(what: string, problem: Problem) {
  const { title, shortId, culprit, level, environment, count, userCount, metadata, message } = problem
  const name = projectOf(problem)
  const subject = [quote(title || metadata?.value || message).slice(1, -1), shortId && `(${shortId})`]
  const where = words(culprit && `in ${culprit}`, environment && `on ${environment}`)
  const value = metadata?.value || message
  const text = lines(
    `Sentry: ${words(what, name && `in ${name}`)}: ${words(...subject) || 'an error without a title'}`,
    where && `Where: ${where}`,
    level && `Level: ${level}`,
    count ? words(`Seen ${count} times`, userCount ? `by ${userCount} users` : '') : undefined,
    value && !title?.includes(value) && clip(value),
    problem.web_url ?? problem.permalink,
  )
  return { message: text, sessionKey: `hook:sentry:${problem.issue_id ?? problem.id ?? 'sentry'}` }
}

/** An event has only the number of its project; the address of the event has the name. */
function projectOf({ project, url, project_url: page }: Problem): string | undefined {
  if (typeof project === 'object' && project) return project.name ?? project.slug ?? undefined
  if (typeof project === 'string' && !/^\d+$/.test(project)) return project || undefined
  return /\/projects\/[^/]+\/([^/?]+)/.exec(url ?? page ?? '')?.[1]
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
    message: lines(
      `Sentry: ${words('metric alert', action)}: ${clip(title || rule?.name, 300) || 'no title'}`,
      clip(text),
      link,
    ),
    sessionKey: `hook:sentry:alert:${rule?.id ?? alert?.id ?? 'metric'}`,
  }
}

function describeComment({ action, actor, data }: Payload) {
  if (action !== 'created') return null
  const issue = words(
    'issue',
    data?.issue_id ? String(data.issue_id) : '',
    data?.project_slug && `in ${data.project_slug}`,
  )
  return {
    message: lines(`Sentry: ${actor?.name ?? 'Somebody'} commented on ${issue}`, `\n${clip(data?.comment)}`),
    sessionKey: `hook:sentry:${data?.issue_id ?? 'sentry'}`,
  }
}
