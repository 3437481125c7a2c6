// The preset for Jira, Cloud and Data Center: issues, comments, sprints and versions; one session per issue.
import { clip, entryOf, lines, Maybe } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
const Named = Maybe(Type.Object({ name: Text }))
const Person = Maybe(Type.Object({ displayName: Text, name: Text, accountType: Text }))

const Payload = Type.Object({
  webhookEvent: Type.String({ minLength: 1 }),
  issue_event_type_name: Text,
  user: Person,
  issue: Maybe(
    Type.Object({
      id: Id,
      self: Text,
      key: Text,
      fields: Maybe(
        Type.Object({
          summary: Text,
          // A text, or a document in the Atlassian Document Format.
          description: Type.Optional(Type.Unknown()),
          issuetype: Named,
          status: Named,
          priority: Named,
          assignee: Person,
          duedate: Text,
        }),
      ),
    }),
  ),
  comment: Maybe(Type.Object({ id: Id, self: Text, body: Type.Optional(Type.Unknown()), author: Person })),
  changelog: Maybe(Type.Object({ items: Maybe(Type.Array(Type.Record(Type.String(), Type.Unknown()))) })),
  sprint: Maybe(Type.Object({ id: Id, self: Text, name: Text, goal: Text })),
  version: Maybe(Type.Object({ id: Id, self: Text, name: Text, description: Text })),
})
type Payload = Static<typeof Payload>

export default definePreset<Payload>({
  name: 'jira',
  description: 'Issues, comments, sprints and versions of Jira.',
  payload: Payload,
  mapping: { name: 'Jira' },
  auth: { scheme: 'jira' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

/** Jira may report a new comment with two events. The comment is then the id, so that it is reported once. */
function deliveryId({ payload, headers }: PresetRequest<Payload>): string | undefined {
  const id = payload.comment?.self || payload.comment?.id
  return id && isNewComment(payload) ? `comment ${clip(String(id), 240)}` : headers['x-atlassian-webhook-identifier']
}

/** By event. Other events are skipped. */
const eventHandlers: Readonly<Record<string, (payload: Payload) => ActionOverrides | null>> = {
  'jira:issue_created': (payload) => describeIssue('created', payload),
  'jira:issue_deleted': (payload) => describeIssue('deleted', payload),
  'jira:issue_updated': (payload) => (isNewComment(payload) ? describeComment(payload) : describeUpdate(payload)),
  comment_created: describeComment,
  sprint_started: (payload) => describeSprint('started', payload),
  sprint_closed: (payload) => describeSprint('closed', payload),
  'jira:version_released': (payload) => describeVersion('released', payload),
  'jira:version_unreleased': (payload) => describeVersion('unreleased', payload),
}

function toAction({ payload }: PresetRequest<Payload>): ActionOverrides | null {
  return entryOf(eventHandlers, payload.webhookEvent)?.(payload) ?? null
}

// ── Issues ──────────────────────────────────────────────────────────────────────────────────────

function describeIssue(verb: string, payload: Payload): ActionOverrides {
  const { issue, user } = payload
  const { status, priority, assignee, duedate, description } = issue?.fields ?? {}
  const facts = [
    status?.name && `status ${status.name}`,
    priority?.name && `priority ${priority.name}`,
    nameOf(assignee) && `assigned to ${nameOf(assignee)}`,
  ].filter(Boolean)
  const message = lines(
    `Jira: ${nameOf(user) ?? 'Somebody'} ${verb} ${issueOf(payload)}`,
    facts.length > 0 && `Now: ${facts.join(', ')}`,
    duedate && `Due: ${duedate}`,
    // The page of a deleted issue is gone.
    verb !== 'deleted' && linkOf(payload),
    verb === 'created' && typeof description === 'string' && description && `\n${clip(description)}`,
  )
  return { message, sessionKey: sessionOf(payload) }
}

/** Fields whose changes are reported, by the name in the changelog, and the name in the message. */
const fields: Readonly<Record<string, string>> = {
  status: 'status',
  resolution: 'resolution',
  assignee: 'assignee',
  priority: 'priority',
  summary: 'summary',
  duedate: 'due date',
  issuetype: 'type',
  project: 'project',
  sprint: 'sprint',
  'fix version': 'fix version',
  flagged: 'flag',
  parent: 'parent',
}

function describeUpdate(payload: Payload): ActionOverrides | null {
  const changes = (payload.changelog?.items ?? []).flatMap(changeText)
  if (changes.length === 0) return null
  const message = lines(
    `Jira: ${nameOf(payload.user) ?? 'Somebody'} changed ${issueOf(payload)}`,
    ...changes,
    linkOf(payload),
    textOf(payload.comment?.body),
  )
  return { message, sessionKey: sessionOf(payload) }
}

function changeText(item: Readonly<Record<string, unknown>>): string[] {
  const read = (key: string) => {
    const value = entryOf(item, key)
    return typeof value === 'string' ? value : undefined
  }
  const field = entryOf(fields, read('field')?.toLowerCase())
  if (field === undefined) return []
  const [before, after] = ['fromString', 'toString'].map((key) => clip(read(key), 200) || 'none')
  return [`- ${field}: ${before} → ${after}`]
}

// ── Comments ────────────────────────────────────────────────────────────────────────────────────

/** Data Center also reports a comment as an update of its issue. */
function isNewComment({ webhookEvent: event, issue_event_type_name: kind, comment, changelog }: Payload): boolean {
  if (event === 'comment_created') return true
  return Boolean(
    event === 'jira:issue_updated' && comment && !changelog && (kind ?? 'issue_commented') === 'issue_commented',
  )
}

/** Comments of apps are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment(payload: Payload): ActionOverrides | null {
  const { comment, user } = payload
  const author = comment?.author ?? user
  if (author?.accountType === 'app') return null
  const message = lines(
    `Jira: ${nameOf(author) ?? 'Somebody'} commented on ${issueOf(payload)}`,
    linkOf(payload),
    textOf(comment?.body),
  )
  return { message, sessionKey: sessionOf(payload) }
}

const textOf = (body: unknown): string | false => typeof body === 'string' && body !== '' && `\n${clip(body)}`

// ── Sprints and versions ────────────────────────────────────────────────────────────────────────

function describeSprint(verb: string, { sprint, user }: Payload): ActionOverrides {
  const message = lines(
    headOf(verb, quoted('sprint', sprint?.name), user),
    sprint?.goal && `Goal: ${clip(sprint.goal, 500)}`,
  )
  return { message, sessionKey: `hook:jira:sprint-${sprint?.id ?? 'unknown'}` }
}

function describeVersion(verb: string, { version, user }: Payload): ActionOverrides {
  const message = lines(
    headOf(verb, quoted('version', version?.name), user),
    version?.description && `\n${clip(version.description)}`,
  )
  return { message, sessionKey: `hook:jira:version-${version?.id ?? 'unknown'}` }
}

/** Some of these events do not name the person. */
const headOf = (verb: string, what: string, user: Payload['user']): string =>
  nameOf(user) ? `Jira: ${nameOf(user)} ${verb} ${what}` : `Jira: ${what} was ${verb}`

const quoted = (kind: string, name: string | null | undefined): string =>
  name ? `${kind} "${clip(name, 300)}"` : `a ${kind}`

// ── Names ───────────────────────────────────────────────────────────────────────────────────────

const nameOf = (person: Payload['user']): string | undefined => person?.displayName || person?.name || undefined

function issueOf({ issue }: Payload): string {
  const { key, fields } = issue ?? {}
  const subject = [fields?.issuetype?.name, key, fields?.summary && `"${clip(fields.summary, 300)}"`].filter(Boolean)
  return subject.length > 0 ? subject.join(' ') : 'an issue'
}

/** The addresses of apps go through api.atlassian.com, which has no pages. */
function linkOf({ issue }: Payload): string | undefined {
  const base = /^https?:\/\/.+?(?=\/rest\/)/.exec(issue?.self ?? '')?.[0]
  return base && issue?.key && !base.startsWith('https://api.atlassian.com/')
    ? `${base}/browse/${issue.key}`
    : undefined
}

/** The key of an issue changes when it moves to another project, so the session has its id. */
function sessionOf({ issue, comment }: Payload): string {
  const ofComment = /\/issue\/(\d+)\/comment\//.exec(comment?.self ?? '')?.[1]
  return `hook:jira:${issue?.id || ofComment || issue?.key || 'issues'}`
}
