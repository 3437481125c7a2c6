// Describes Bitbucket's events for somebody who may have to act on them. `null` skips an event.
import { clip, entryOf } from 'svc-gateway/kit'
import type { Change, Payload } from './payload.ts'

export interface EventText {
  /** Who did what, without a full stop. */
  head: string
  details?: readonly (string | false | null | undefined)[]
  link?: string | null | undefined
  text?: string | null | undefined
  /** Pull requests and issues are numbered separately: `pull-requests/7`, `issues/7`. */
  thing?: string | undefined
}

type EventHandler = (payload: Payload, who: string) => EventText | null

/** By the header X-Event-Key. `describeOther` describes all other events. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  'repo:push': describePush,
  'repo:fork': ({ fork }, who) => ({
    head: `${who} forked the repository${fork?.full_name ? ` to ${fork.full_name}` : ''}`,
    link: fork?.links?.html?.href,
  }),
  'repo:commit_status_created': describeStatus,
  'repo:commit_status_updated': describeStatus,
  'repo:commit_comment_created': (payload, who) =>
    describeComment(`${who} commented on commit ${short(payload.commit?.hash)}`.trimEnd(), payload),
  'issue:created': (payload, who) => ({
    ...aboutIssue(payload),
    head: `${who} opened ${issueOf(payload)}`,
    text: payload.issue?.content?.raw,
  }),
  'issue:updated': describeIssueUpdate,
  'issue:comment_created': (payload, who) => describeComment(`${who} commented on ${issueOf(payload)}`, payload),
  'pullrequest:created': (payload, who) => ({
    ...aboutPull(payload),
    head: `${who} opened ${payload.pullrequest?.draft ? 'draft ' : ''}${pullOf(payload)}`,
    details: [branchesOf(payload)],
    text: payload.pullrequest?.description,
  }),
  'pullrequest:fulfilled': describePull('merged'),
  'pullrequest:rejected': (payload, who) => ({
    ...aboutPull(payload),
    head: `${who} declined ${pullOf(payload)}`,
    text: payload.pullrequest?.reason,
  }),
  'pullrequest:approved': describePull('approved'),
  'pullrequest:unapproved': describePull('took back the approval of'),
  'pullrequest:changes_request_created': describePull('asked for changes to'),
  'pullrequest:changes_request_removed': describePull('took back the request for changes to'),
  'pullrequest:comment_created': (payload, who) => {
    const path = payload.comment?.inline?.path
    return describeComment(`${who} commented on ${path ? `${path} of ` : ''}${pullOf(payload)}`, payload)
  },
}

/** Describes any other event: its name, the actor, and its pull request or issue. */
export function describeOther(event: string, payload: Payload, who: string): EventText {
  const about = payload.pullrequest ? aboutPull(payload) : payload.issue ? aboutIssue(payload) : {}
  return { ...about, head: `${who}: ${event.replaceAll(/[:_]/g, ' ')}` }
}

// ── Pushes ──────────────────────────────────────────────────────────────────────────────────────

const mostListed = 10

/** A push may change several branches and tags. */
function describePush({ push }: Payload, who: string): EventText | null {
  const changes = push?.changes ?? []
  const [first] = changes
  if (!first) return null
  const shown = changes.slice(0, mostListed).map(changeText)
  const more = changes.length > mostListed && `- and ${changes.length - mostListed} more`
  if (changes.length === 1) return { head: `${who} ${shown[0]}`, details: commitsOf(first), link: linkOf(first) }
  return {
    head: `${who} changed ${changes.length} branches and tags`,
    details: [...shown.map((text) => `- ${text}`), more],
  }
}

function changeText(change: Change): string {
  const { new: after, old: before, forced, commits } = change
  const kind = (after ?? before)?.type === 'tag' ? 'tag' : 'branch'
  const name = after?.name || before?.name
  const named = name ? `${kind} ${name}` : `a ${kind}`
  if (!after) return `deleted ${named}`
  if (before && kind === 'tag') return `moved ${named}`
  const pushed = `${forced ? 'force-' : ''}pushed${countText(change)}`
  if (before) return `${pushed} to ${name || 'a branch'}`
  return kind === 'branch' && commits?.length ? `created ${named} and ${pushed} to it` : `created ${named}`
}

/** Bitbucket lists at most five commits, and marks the list as truncated when there are more. */
function countText({ commits, truncated }: Change): string {
  const count = commits?.length ?? 0
  if (count === 0) return ''
  if (truncated) return ` more than ${count} commits`
  return count === 1 ? ' 1 commit' : ` ${count} commits`
}

const commitsOf = ({ new: after, commits }: Change): string[] =>
  after?.type === 'tag'
    ? []
    : (commits ?? []).slice(0, mostListed).map(({ hash, message, author }) => {
        const name = author?.user?.display_name || author?.raw?.replace(/\s*<.*>$/, '') || 'unknown'
        return ['-', short(hash), clip(message?.split('\n', 1)[0], 300), `(${name})`].filter(Boolean).join(' ')
      })

/** The page of a deleted branch is gone. */
const linkOf = ({ new: after, links }: Change): string | null | undefined => (after ? links?.html?.href : undefined)

// ── Pull requests, issues, comments ─────────────────────────────────────────────────────────────

function describePull(verb: string): EventHandler {
  return (payload, who) => ({ ...aboutPull(payload), head: `${who} ${verb} ${pullOf(payload)}` })
}

/** Fields of an issue whose changes are reported. */
const issueFields: ReadonlySet<string> = new Set(['status', 'state', 'assignee', 'title', 'priority', 'kind'])

function describeIssueUpdate(payload: Payload, who: string): EventText | null {
  const changes = Object.entries(payload.changes ?? {}).flatMap(([field, change]) =>
    issueFields.has(field) ? [`- ${field}: ${endsOf(change)}`] : [],
  )
  if (changes.length === 0) return null
  return { ...aboutIssue(payload), head: `${who} changed ${issueOf(payload)}`, details: changes }
}

function endsOf(change: unknown): string {
  const { old: before, new: after } = Object(change) as { old?: unknown; new?: unknown }
  return [before, after].map((value) => clip(valueText(value), 200) || 'none').join(' → ')
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  const { display_name: name, username } = Object(value) as { display_name?: unknown; username?: unknown }
  return [name, username].find((one) => typeof one === 'string') ?? ''
}

/** Comments of apps are skipped: an agent that comments would otherwise answer its own comments. */
function describeComment(head: string, payload: Payload): EventText | null {
  const { comment, actor, pullrequest, issue } = payload
  if ((comment?.user ?? actor)?.type === 'app_user') return null
  const about = pullrequest ? aboutPull(payload) : issue ? aboutIssue(payload) : {}
  return { ...about, head, link: comment?.links?.html?.href ?? about.link, text: comment?.content?.raw }
}

const pullOf = ({ pullrequest: pull }: Payload): string => subjectOf('pull request', pull)
const issueOf = ({ issue }: Payload): string => subjectOf('issue', issue)

const subjectOf = (kind: string, subject: Payload['pullrequest'] | Payload['issue']): string =>
  [kind, subject?.id && `#${subject.id}`, subject?.title && `"${subject.title}"`].filter(Boolean).join(' ')

function branchesOf({ pullrequest: pull }: Payload): string | undefined {
  const [from, to] = [pull?.source?.branch?.name, pull?.destination?.branch?.name]
  return from && to ? `${from} → ${to}` : undefined
}

const aboutPull = ({ pullrequest: pull }: Payload): Pick<EventText, 'link' | 'thing'> => ({
  link: pull?.links?.html?.href,
  thing: pull?.id ? `pull-requests/${pull.id}` : undefined,
})

const aboutIssue = ({ issue }: Payload): Pick<EventText, 'link' | 'thing'> => ({
  link: issue?.links?.html?.href,
  thing: issue?.id ? `issues/${issue.id}` : undefined,
})

// ── Builds ──────────────────────────────────────────────────────────────────────────────────────

/** Builds that run or succeed are skipped. */
const failures: Readonly<Record<string, string>> = { FAILED: 'failed', STOPPED: 'was stopped' }

function describeStatus({ commit_status: status }: Payload): EventText | null {
  const failure = entryOf(failures, status?.state)
  if (failure === undefined) return null
  const name = status?.name || status?.key
  const where = [status?.refname && `on ${status.refname}`, status?.commit?.hash && `at ${short(status.commit.hash)}`]
  return {
    head: [name ? `Build "${name}"` : 'A build', failure, ...where].filter(Boolean).join(' '),
    details: [status?.description],
    link: status?.url,
  }
}

const short = (hash: string | null | undefined): string => hash?.slice(0, 7) ?? ''
