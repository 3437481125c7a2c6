// Issues, merge requests and milestones, and comments on them.
import { line, plain, quote, shortHash, words } from 'svc-gateway/kit'
import { dayOf, mostListed, type EventHandler, numbered, pastTense } from './event-text.ts'
import type { Payload } from './payload.ts'

export const describeIssue: EventHandler = ({ object_attributes: issue, assignees }, who) => {
  if (!issue || !['open', 'close', 'reopen'].includes(issue.action ?? '')) return null
  const kind = plain(issue.type).toLowerCase() || 'issue'
  return {
    head: words(who, pastTense(issue.action), numbered(kind, issue)),
    details: [assignedTo(assignees)],
    link: issue.url,
    text: issue.action === 'open' ? issue.description : undefined,
    subject: subjectOf('#', issue.iid),
  }
}

const mergeActions: ReadonlySet<string> = new Set([
  'open',
  'close',
  'reopen',
  'merge',
  'approved',
  'unapproved',
  'approval',
  'unapproval',
])

export const describeMerge: EventHandler = ({ object_attributes: request, assignees }, who) => {
  if (!request || !mergeActions.has(request.action ?? '')) return null
  const kind = request.action === 'open' && request.draft ? 'draft merge request' : 'merge request'
  return {
    head: words(who, pastTense(request.action), numbered(kind, { ...request, mark: '!' })),
    details: [
      [line(request.source_branch, 200), line(request.target_branch, 200)].filter(Boolean).join(' → '),
      request.action === 'open' && assignedTo(assignees),
    ],
    link: request.url,
    text: request.action === 'open' ? request.description : undefined,
    subject: subjectOf('!', request.iid),
  }
}

/** GitLab does not say who changed a milestone. */
export const describeMilestone: EventHandler = ({ object_attributes: milestone, action, group }) => {
  const due = dayOf(milestone?.due_date)
  return {
    head: words('Milestone', quote(milestone?.title), `was ${pastTense(action ?? milestone?.action)}`),
    details: [due && `Due: ${due}`],
    text: milestone?.description,
    where: group?.full_path ?? group?.group_path,
  }
}

/**
 * The accounts of the access tokens of projects and groups (`project_42_bot_3fc…`, before GitLab 16 `project_42_bot2`),
 * and of service accounts.
 */
const bot = /^(?:(?:project|group)_\d+_bot\d*(?:_\w+)?|service_account_\w+)$/

/**
 * System notes are skipped: another event reports the same change. Comments of bots are skipped: an agent that comments
 * would otherwise answer its own comments.
 */
export const describeNote: EventHandler = (payload, who) => {
  const { object_attributes: note, issue, merge_request: request, user } = payload
  if (!note || note.system || isEdited(note)) return null
  if (typeof user === 'object' && bot.test(user?.username ?? '')) return null
  return {
    head: `${who} commented on ${notedThing(payload)}`,
    link: note.url,
    text: note.note,
    subject: request ? subjectOf('!', request.iid) : issue ? subjectOf('#', issue.iid) : undefined,
  }
}

/** Edited comments are skipped, as those of other services. */
const isEdited = ({ action, updated_by_id: editor, last_edited_at: time }: NonNullable<Payload['object_attributes']>) =>
  action === 'update' || (action !== 'create' && Boolean(editor || time))

function notedThing({ object_attributes: note, issue, merge_request: request, commit, snippet }: Payload): string {
  if (request) return numbered('merge request', { ...request, mark: '!' })
  if (issue) return numbered('issue', issue)
  if (snippet) return words('snippet', quote(snippet.title))
  if (commit) return words('commit', typeof commit.id === 'string' && shortHash(commit.id))
  // Other subjects are not in the payload; `noteable_type` is a name such as `DesignManagement::Design`.
  const kind = note?.noteable_type
    ?.split('::')
    .at(-1)
    ?.replaceAll(/(?<=[a-z])(?=[A-Z])/g, ' ')
    .toLowerCase()
  return kind ? `${/^[aeiou]/.test(kind) ? 'an' : 'a'} ${kind}` : 'something'
}

const subjectOf = (mark: string, iid: number | null | undefined): string | undefined =>
  iid ? `${mark}${iid}` : undefined

function assignedTo(assignees: Payload['assignees']): string | undefined {
  const names = (assignees ?? []).map(({ name, username }) => name ?? username).filter(Boolean)
  return names.length > 0
    ? `Assigned to: ${names
        .slice(0, mostListed)
        .map((name) => line(name, 100))
        .join(', ')}`
    : undefined
}
