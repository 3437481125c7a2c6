// The preset for Sentry: new and changed issues, alerts, comments; one session per issue.
import {
  clip,
  definePreset,
  InputError,
  lines,
  type PresetRequest,
  type Static,
  type TSchema,
  Type,
} from 'svc-gateway/plugin'

const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
// A project object, or its name or number.
const Project = Maybe(Type.Union([Type.String(), Type.Number(), Type.Object({ name: Text, slug: Text })]))

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
    release: Maybe(Type.Unknown()),
    project: Project,
    count: Id,
    userCount: Maybe(Type.Number()),
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
  id: Id,
  project_name: Text,
  culprit: Text,
  level: Text,
  message: Text,
  url: Text,
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
})

const silent: ReadonlySet<unknown> = new Set(['ignored', 'archived', 'uninstalled', 'deleted'])

function toAction({ payload, headers }: PresetRequest<Payload>) {
  const { action, actor, data, event: older } = payload
  if (headers['sentry-hook-resource'] === 'installation' || data?.installation || silent.has(action)) return null
  if (data?.metric_alert) return describeMetric(data, action)
  if (data?.comment !== undefined && data.comment !== null) return describeComment(payload)
  if (data?.issue) return describeProblem(issueVerb(action, actor?.name), data.issue)
  const event = data?.event ?? data?.error
  if (event)
    return describeProblem(data?.triggered_rule ? `alert "${data.triggered_rule}"` : 'an error happened', event)
  if (older ?? payload.url)
    return describeProblem('an error happened', {
      ...payload,
      ...older,
      project: payload.project_name,
      permalink: payload.url,
    })
  throw new InputError('data is required; it contains the issue, the event or the alert.')
}

function issueVerb(action: Payload['action'], who: string | null | undefined): string {
  return action === 'created' ? 'new issue' : `issue ${action ?? 'changed'}${who ? ` by ${who}` : ''}`
}

function describeProblem(what: string, problem: Problem) {
  const { project, title, shortId, culprit, level, environment, count, userCount, metadata, message } = problem
  const name = typeof project === 'object' ? (project?.name ?? project?.slug) : project
  const where = [culprit && `in ${culprit}`, environment && `on ${environment}`].filter(Boolean).join(' ')
  const value = metadata?.value ?? message
  const text = lines(
    `Sentry: ${what}${name ? ` in ${name}` : ''}: ${clip(title ?? message, 300)}${shortId ? ` (${shortId})` : ''}`,
    where && `Where: ${where}`,
    level && `Level: ${level}`,
    count ? `Seen ${count} times${userCount ? ` by ${userCount} users` : ''}` : undefined,
    value && !title?.includes(value) && clip(value),
    problem.web_url ?? problem.permalink,
  )
  return { message: text, sessionKey: `hook:sentry:${problem.issue_id ?? problem.id ?? 'sentry'}` }
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
    message: lines(`Sentry: metric alert ${action ?? ''}: ${clip(title ?? rule?.name, 300)}`, clip(text), link),
    sessionKey: `hook:sentry:alert:${rule?.id ?? alert?.id ?? 'metric'}`,
  }
}

function describeComment({ action, actor, data }: Payload) {
  if (action !== 'created') return null
  const where = data?.project_slug ? ` in ${data.project_slug}` : ''
  return {
    message: lines(
      `Sentry: ${actor?.name ?? 'Somebody'} commented on issue ${data?.issue_id ?? ''}${where}`,
      `\n${clip(data?.comment)}`,
    ),
    sessionKey: `hook:sentry:${data?.issue_id ?? 'sentry'}`,
  }
}
