// The preset for Jira, Cloud and Data Center: issues, comments, sprints and versions; one session per issue.
import { entryOf, eventMessage, line, Maybe, quote, words } from 'svc-gateway/kit'
import { type ActionOverrides, definePreset, type PresetRequest, type Static, Type } from 'svc-gateway/plugin'
import { documentText } from './document-text.ts'
import { scheme } from './scheme.ts'

const Text = Maybe(Type.String())
const Id = Maybe(Type.Union([Type.String(), Type.Number()]))
// Data Center and rules of Jira Automation also send names alone.
const Named = Maybe(Type.Union([Type.String(), Type.Object({ name: Text })]))
const Person = Maybe(Type.Union([Type.String(), Type.Object({ displayName: Text, name: Text, accountType: Text })]))

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
  comment: Maybe(
    Type.Object({
      id: Id,
      self: Text,
      body: Type.Optional(Type.Unknown()),
      author: Person,
      created: Id,
      updated: Id,
    }),
  ),
  changelog: Maybe(Type.Object({ items: Maybe(Type.Array(Type.Record(Type.String(), Type.Unknown()))) })),
  sprint: Maybe(Type.Object({ id: Id, name: Text, goal: Text, startDate: Text, endDate: Text })),
  version: Maybe(Type.Object({ id: Id, name: Text, description: Text })),
})
type Payload = Static<typeof Payload>

const preset = definePreset<Payload>({
  name: 'jira',
  description: 'Issues, comments, sprints and versions of Jira.',
  payload: Payload,
  mapping: { name: 'Jira' },
  auth: { scheme: 'jira' },
  deliveryId,
  toAction,
  samples: async (seed) => (await import('./samples.ts')).createSamples(seed),
})

export default [preset, scheme]

/** Jira may report a new comment with two events. The comment is then the id, so that it is reported once. */
function deliveryId({ payload, headers }: PresetRequest<Payload>): string | undefined {
  const id = payload.comment?.self || payload.comment?.id
  return id && isNewComment(payload) ? `comment ${line(String(id), 240)}` : headers['x-atlassian-webhook-identifier']
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
  const { status, priority, assignee, duedate, description } = payload.issue?.fields ?? {}
  const facts = [
    nameOf(status) && `status ${nameOf(status)}`,
    nameOf(priority) && `priority ${nameOf(priority)}`,
    nameOf(assignee) && `assigned to ${nameOf(assignee)}`,
  ].filter(Boolean)
  const message = eventMessage('Jira', {
    head: `${nameOf(payload.user) || 'Somebody'} ${verb} ${issueOf(payload)}`,
    details: [facts.length > 0 && `Now: ${facts.join(', ')}`, duedate && `Due: ${duedate}`],
    // The page of a deleted issue is gone.
    link: verb === 'deleted' ? undefined : linkOf(payload),
    text: verb === 'created' ? documentText(description) : undefined,
  })
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
  const { changelog, issue_event_type_name: kind, issue } = payload
  // A change of the assignee may come without a log.
  const assignee = nameOf(issue?.fields?.assignee)
  const isAssigned = kind === 'issue_assigned' && changelog?.items?.length === 0 && assignee
  const changes = isAssigned ? [`- assignee: ${assignee}`] : (changelog?.items ?? []).flatMap(changeText)
  if (changes.length === 0) return null
  const message = eventMessage('Jira', {
    head: `${nameOf(payload.user) || 'Somebody'} changed ${issueOf(payload)}`,
    details: changes,
    link: linkOf(payload),
    text: documentText(payload.comment?.body),
  })
  return { message, sessionKey: sessionOf(payload) }
}

function changeText(item: Readonly<Record<string, unknown>>): string[] {
  const read = (key: string) => {
    const value = entryOf(item, key)
    return typeof value === 'string' ? value : undefined
  }
  const field = entryOf(fields, read('field')?.toLowerCase())
  if (field === undefined) return []
  const [before, after] = ['fromString', 'toString'].map((key) => line(read(key), 200) || 'none')
  return [`- ${field}: ${before} → ${after}`]
}

// ── Comments ────────────────────────────────────────────────────────────────────────────────────

/** Data Center also reports a comment as an update of its issue. */
function isNewComment({ webhookEvent: event, issue_event_type_name: kind, comment, changelog }: Payload): boolean {
  if (event === 'comment_created') return true
  // Old versions do not say whether the comment is new.
  const isNew = kind ? kind === 'issue_commented' : comment?.created === comment?.updated
  return Boolean(event === 'jira:issue_updated' && comment && !changelog && isNew)
}

/** Comments of apps are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment(payload: Payload): ActionOverrides | null {
  const { comment, user } = payload
  const author = comment?.author ?? user
  if (typeof author === 'object' && author?.accountType === 'app') return null
  const message = eventMessage('Jira', {
    head: `${nameOf(author) || 'Somebody'} commented on ${issueOf(payload)}`,
    link: linkOf(payload),
    text: documentText(comment?.body),
  })
  return { message, sessionKey: sessionOf(payload) }
}

// ── Sprints and versions ────────────────────────────────────────────────────────────────────────

function describeSprint(verb: string, { sprint, user }: Payload): ActionOverrides {
  const { id, name, goal, startDate, endDate } = sprint ?? {}
  const message = eventMessage('Jira', {
    head: headOf(verb, named('sprint', name), user),
    details: [goal && `Goal: ${goal}`, startDate && `Start: ${startDate}`, endDate && `End: ${endDate}`],
  })
  return { message, sessionKey: `hook:jira:sprint-${line(String(id ?? 'unknown'), 200)}` }
}

function describeVersion(verb: string, { version, user }: Payload): ActionOverrides {
  const { id, name, description } = version ?? {}
  const message = eventMessage('Jira', { head: headOf(verb, named('version', name), user), text: description })
  return { message, sessionKey: `hook:jira:version-${line(String(id ?? 'unknown'), 200)}` }
}

/** Some of these events do not name the person. */
const headOf = (verb: string, what: string, user: Payload['user']): string =>
  nameOf(user) ? `${nameOf(user)} ${verb} ${what}` : `${what} was ${verb}`

const named = (kind: string, name: string | null | undefined): string =>
  quote(name) ? `${kind} ${quote(name, 200)}` : `a ${kind}`

// ── Names ───────────────────────────────────────────────────────────────────────────────────────

/** The name of a person, a status, a priority or a type. */
function nameOf(value: string | { displayName?: string | null; name?: string | null } | null | undefined): string {
  return line(typeof value === 'object' ? value?.displayName || value?.name : value, 100)
}

function issueOf(payload: Payload): string {
  const { key, fields: shown } = payload.issue ?? {}
  const id = idOf(payload)
  const name = words(nameOf(shown?.issuetype), line(key, 100), quote(shown?.summary, 200))
  return name || (id ? `issue ${id}` : 'an issue')
}

/**
 * The page of the issue. Some comments come without their issue, whose number is in the address of the comment. The
 * addresses of apps go through api.atlassian.com, which has no pages.
 */
function linkOf(payload: Payload): string | undefined {
  const { issue, comment } = payload
  const address = line(issue?.self || comment?.self, 1000)
  const end = address.indexOf('/rest/')
  const base = end < 0 ? '' : address.slice(0, end)
  if (!/^https?:\/\/./.test(base) || base.startsWith('https://api.atlassian.com/')) return undefined
  if (issue?.key) return `${base}/browse/${encodeURIComponent(line(issue.key, 100))}`
  const id = idOf(payload)
  return id && `${base}/issues/?jql=id%3D${encodeURIComponent(id)}`
}

function idOf({ issue, comment }: Payload): string | undefined {
  const ofComment = /\/issue\/(\d{1,30})\/comment\//.exec(comment?.self ?? '')?.[1]
  return line(String(issue?.id ?? ''), 200) || ofComment
}

/** The key of an issue changes when it moves to another project, so the session has its id. */
const sessionOf = (payload: Payload): string =>
  `hook:jira:${idOf(payload) || line(payload.issue?.key, 200) || 'issues'}`
