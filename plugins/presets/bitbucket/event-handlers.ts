// Describes Bitbucket's events for somebody who may have to act on them. `null` skips an event.
import { entryOf, line, quote, shortHash, words } from 'svc-gateway/kit'
import { dataCenterHandlers } from './data-center.ts'
import {
  aboutIssue,
  aboutPull,
  commitLine,
  commitOf,
  describeComment,
  type EventHandler,
  type EventText,
  issueOf,
  listed,
  describePull,
  pullOf,
} from './event-text.ts'
import type { Change, Commit, Payload } from './payload.ts'

const describeOpened: EventHandler = (payload, who) => ({
  ...aboutPull(payload),
  head: `${who} opened ${payload.pullrequest?.draft ? 'draft ' : ''}${pullOf(payload)}`,
  details: [branchesOf(payload)],
  text: payload.pullrequest?.description,
})

const describeDeclined: EventHandler = (payload, who) => ({
  ...aboutPull(payload),
  head: `${who} declined ${pullOf(payload)}`,
  text: payload.pullrequest?.reason,
})

const describePullComment: EventHandler = (payload, who) => {
  const path = line(payload.comment?.inline?.path)
  return describeComment(`${who} commented on ${path ? `${path} of ` : ''}${pullOf(payload)}`, payload)
}

const describeCommitComment: EventHandler = (payload, who) =>
  describeComment(words(who, 'commented on commit', shortHash(commitOf(payload))), payload)

/** By the header X-Event-Key. `describeOther` describes all other events. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  'repo:push': describePush,
  'repo:fork': describeFork,
  'repo:commit_status_created': describeStatus,
  'repo:commit_status_updated': describeStatus,
  'repo:commit_comment_created': describeCommitComment,
  'issue:created': (payload, who) => ({
    ...aboutIssue(payload),
    head: `${who} opened ${issueOf(payload)}`,
    text: payload.issue?.content?.raw,
  }),
  'issue:updated': describeIssueUpdate,
  'issue:comment_created': (payload, who) => describeComment(`${who} commented on ${issueOf(payload)}`, payload),
  'pullrequest:created': describeOpened,
  'pullrequest:fulfilled': describePull('merged'),
  'pullrequest:rejected': describeDeclined,
  'pullrequest:approved': describePull('approved'),
  'pullrequest:unapproved': describePull('took back the approval of'),
  'pullrequest:changes_request_created': describePull('asked for changes to'),
  'pullrequest:changes_request_removed': describePull('took back the request for changes to'),
  'pullrequest:comment_created': describePullComment,
  'repo:forked': describeFork,
  'repo:comment:added': describeCommitComment,
  'pr:opened': describeOpened,
  'pr:merged': describePull('merged'),
  'pr:declined': describeDeclined,
  'pr:deleted': describePull('deleted'),
  'pr:reviewer:approved': describePull('approved'),
  'pr:reviewer:needs_work': describePull('asked for changes to'),
  'pr:reviewer:changes_requested': describePull('asked for changes to'),
  'pr:comment:added': describePullComment,
  ...dataCenterHandlers,
}

/** Describes any other event: its name, the actor, and its pull request or issue. */
export function describeOther(event: string, payload: Payload, who: string): EventText {
  const name = line(event, 100).replaceAll(/[:_]/g, ' ')
  if (payload.pullrequest) return { ...aboutPull(payload), head: `${who}: ${name}, ${pullOf(payload)}` }
  if (payload.issue) return { ...aboutIssue(payload), head: `${who}: ${name}, ${issueOf(payload)}` }
  return { head: `${who}: ${name}` }
}

function describeFork({ fork }: Payload, who: string): EventText {
  return {
    head: words(who, 'forked the repository', fork?.full_name && `to ${line(fork.full_name)}`),
    link: fork?.links?.html?.href,
  }
}

// ── Pushes ──────────────────────────────────────────────────────────────────────────────────────

/** A push may change several branches and tags. */
function describePush({ push }: Payload, who: string): EventText | null {
  const changes = push?.changes ?? []
  const [first] = changes
  if (!first) return null
  if (changes.length === 1)
    return { head: `${who} ${changeText(first)}`, details: commitsOf(first), link: linkOf(first) }
  return {
    head: `${who} changed ${changes.length} branches and tags`,
    details: listed(changes, (change) => {
      const [text, commits] = [changeText(change), commitsOf(change)]
      return [
        `${text.charAt(0).toUpperCase()}${text.slice(1)}`,
        ...commits,
        (commits.length > 0 && linkOf(change)) || '',
      ]
    }),
  }
}

function changeText(change: Change): string {
  const { new: after, old: before, forced, commits } = change
  const kind = (after ?? before)?.type === 'tag' ? 'tag' : 'branch'
  const name = line(after?.name || before?.name)
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

/** Without a list of commits, the last one is in the branch itself. */
function commitsOf({ new: after, old: before, commits }: Change): string[] {
  if (after?.type === 'tag') return []
  if (commits?.length) return listed(commits, lineOf)
  const { target } = after ?? {}
  if (!target?.hash || !before) return []
  return [`Now at: ${lineOf(target).slice(2)}`, before.target?.hash ? `Before: ${shortHash(before.target.hash)}` : '']
}

/** The author is `Ada <ada@example.com>`. */
const lineOf = ({ hash, message, author }: Commit): string =>
  commitLine({ hash, message, author: author?.user?.display_name || author?.raw?.split('<', 1)[0] })

/** The page of a deleted branch is gone. */
const linkOf = ({ new: after, links }: Change): string | null | undefined => (after ? links?.html?.href : undefined)

// ── Pull requests and issues ────────────────────────────────────────────────────────────────────

function branchesOf({ pullrequest: pull }: Payload): string | undefined {
  const [from, to] = [pull?.source?.branch?.name, pull?.destination?.branch?.name]
  return from && to ? `${line(from, 200)} → ${line(to, 200)}` : undefined
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
  return [before, after].map((value) => line(valueText(value), 200) || 'none').join(' → ')
}

function valueText(value: unknown): string {
  if (typeof value === 'string') return value
  const { display_name: name, username } = Object(value) as { display_name?: unknown; username?: unknown }
  return [name, username].find((one) => typeof one === 'string') ?? ''
}

// ── Builds ──────────────────────────────────────────────────────────────────────────────────────

/** Builds that run or succeed are skipped. */
const failures: Readonly<Record<string, string>> = { FAILED: 'failed', STOPPED: 'was stopped' }

function describeStatus({ commit_status: status }: Payload): EventText | null {
  const failure = entryOf(failures, status?.state)
  if (failure === undefined) return null
  const name = quote(status?.name || status?.key)
  const branch = line(status?.refname, 100)
  const hash = shortHash(status?.commit?.hash)
  return {
    head: words(name ? `Build ${name}` : 'A build', failure, branch && `on ${branch}`, hash && `at ${hash}`),
    details: [status?.description],
    link: status?.url,
  }
}
