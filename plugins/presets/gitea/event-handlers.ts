// Describes the events of Gitea, Forgejo and Gogs for somebody who may have to act on them. `null` skips an event.
import {
  describeRelease,
  entryOf,
  type EventText as Message,
  line,
  plain,
  quote,
  refName,
  shortHash,
  words,
} from 'svc-gateway/kit'
import type { Payload } from './payload.ts'

export interface EventText extends Message {
  /** The number of the issue or pull request. */
  number?: number | null | undefined
}

type EventHandler = (payload: Payload, who: string) => EventText | null
type Subject = Payload['issue']

/** By event name. `describeOther` describes all other events. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  push: describePush,
  create: ({ ref, ref_type: kind }, who) => ({ head: `${who} created ${referenceOf(kind, ref)}` }),
  delete: ({ ref, ref_type: kind }, who) => ({ head: `${who} deleted ${referenceOf(kind, ref)}` }),
  fork: ({ forkee, repository }, who) => ({
    head: words(who, 'forked the repository', repository?.full_name && `to ${repository.full_name}`),
    link: repository?.html_url ?? forkee?.html_url,
  }),
  issues: describeIssue,
  pull_request: describePull,
  issue_comment: describeComment,
  pull_request_approved: describeReview('approved'),
  pull_request_rejected: describeReview('asked for changes to'),
  pull_request_comment: describeReview('reviewed'),
  release: describeRelease,
  wiki: ({ action, page }, who) => ({ head: words(who, past(action), 'wiki page', quote(page)) }),
  repository: ({ action }, who) => ({ head: `${who} ${past(action)} the repository` }),
  package: ({ action, package: published }, who) => ({
    head: words(who, past(action), 'package', published?.name, published?.version),
    link: published?.html_url,
  }),
  status: describeStatus,
  workflow_run: ({ workflow_run: run, workflow }) =>
    failures.has(run?.conclusion ?? '') ? describeRun('failed', run, workflow?.name) : null,
  action_run_failure: ({ run }) => describeRun('failed', run),
  action_run_recover: ({ run }) => describeRun('succeeded again', run),
}

/** Describes any other event: its name, its action, and the sender. */
export const describeOther = (
  event: string,
  { action, issue, pull_request: pull }: Payload,
  who: string,
): EventText => ({
  ...about(pull ?? issue),
  head: `${who}: ${plain(`${line(event, 100)} ${line(action, 100)}`)}`,
})

const past = (action: string | null | undefined): string => plain(action) || 'changed'
const referenceOf = (kind: string | null | undefined, ref: string | null | undefined): string =>
  words(kind || 'ref', refName(ref))

const isNothing = (sha: string | null | undefined): boolean => /^0+$/.test(sha ?? '')

const mostListed = 10

/** `create` and `delete` report new and deleted branches and tags. A test sends a push from a commit to itself. */
function describePush({ ref, before, after, commits, total_commits: total, compare_url: link }: Payload, who: string) {
  const count = total || (commits?.length ?? 0)
  const isTest = Boolean(before) && before === after
  if (isTest || isNothing(after) || (count === 0 && isNothing(before)) || ref?.startsWith('refs/tags/')) return null
  const listed = (commits ?? []).slice(0, mostListed).map(({ id, message, author }) => {
    const name = line(author?.username || author?.name, 100) || 'unknown'
    return words('-', shortHash(id), line(message?.trimStart().split('\n', 1)[0]), `(${name})`)
  })
  const number = count === 0 ? '' : ` ${count} ${count === 1 ? 'commit' : 'commits'}`
  return {
    head: `${who} pushed${number} to ${refName(ref) || 'a branch'}`,
    details: [...listed, count > mostListed && `- and ${count - mostListed} more`],
    link,
  }
}

// ── Issues and pull requests ────────────────────────────────────────────────────────────────────

function describeIssue({ action, issue }: Payload, who: string): EventText | null {
  if (!['opened', 'closed', 'reopened', 'assigned', 'deleted'].includes(action ?? '')) return null
  const assignee = nameOf(issue?.assignee)
  return {
    ...about(issue),
    head: words(who, action, subjectOf('issue', issue), action === 'assigned' && assignee && `to ${assignee}`),
    text: action === 'opened' ? issue?.body : undefined,
  }
}

function describePull(
  { action, pull_request: pull, requested_reviewer: reviewer }: Payload,
  who: string,
): EventText | null {
  const name = subjectOf('pull request', pull)
  const assignee = nameOf(pull?.assignee)
  const heads: Record<string, string> = {
    opened: `${who} opened ${pull?.draft ? 'draft ' : ''}${name}`,
    closed: `${who} ${pull?.merged ? 'merged' : 'closed without merging'} ${name}`,
    reopened: `${who} reopened ${name}`,
    review_requested: `${who} asked ${nameOf(reviewer) ?? 'a team'} to review ${name}`,
    assigned: words(who, 'assigned', name, assignee && `to ${assignee}`),
  }
  const head = entryOf(heads, action)
  if (head === undefined) return null
  const [from, to] = [line(pull?.head?.ref, 200), line(pull?.base?.ref, 200)]
  return {
    ...about(pull),
    head,
    details: [action === 'opened' && from && to && `${from} → ${to}`],
    text: action === 'opened' ? pull?.body : undefined,
  }
}

/** Comments of workflows are skipped: an agent that comments with their account would otherwise answer itself. */
const bots: ReadonlySet<unknown> = new Set(['gitea-actions', 'forgejo-actions'])
const isBot = (person: Payload['sender']): boolean => bots.has(person?.login || person?.username)

function describeComment(payload: Payload, who: string): EventText | null {
  const { action, comment, is_pull: isPull, issue, pull_request: pull } = payload
  if (action !== 'created' || isBot(comment?.user ?? payload.sender)) return null
  const subject = pull ?? issue
  const kind = isPull || pull || issue?.pull_request ? 'pull request' : 'issue'
  return {
    ...about(subject),
    head: `${who} commented on ${subjectOf(kind, subject)}`,
    link: comment?.html_url || subject?.html_url,
    text: comment?.body,
  }
}

function describeReview(verb: string): EventHandler {
  return ({ pull_request: pull, review, sender }, who) =>
    isBot(sender)
      ? null
      : { ...about(pull), head: `${who} ${verb} ${subjectOf('pull request', pull)}`, text: review?.content }
}

// ── Checks and workflows ────────────────────────────────────────────────────────────────────────

const failures: ReadonlySet<string> = new Set(['failure', 'timed_out', 'startup_failure', 'action_required'])

const failedStates: Readonly<Record<string, string>> = { failure: 'failed', error: 'ended with an error' }

function describeStatus({ state, context, sha, description, target_url: link }: Payload): EventText | null {
  const result = entryOf(failedStates, state)
  if (result === undefined) return null
  const name = context ? `Check ${quote(context)}` : 'A check'
  return { head: words(name, result, sha && `at ${shortHash(sha)}`), details: [description], link }
}

function describeRun(result: string, run: Payload['run'], workflow?: string | null): EventText {
  const name = workflow || run?.workflow_id || run?.name || run?.path
  const branch = run?.head_branch || run?.prettyref
  const sha = run?.head_sha || run?.commit_sha
  const title = run?.display_title || run?.title
  return {
    head: words(
      name ? `Workflow ${quote(name)}` : 'A workflow',
      result,
      branch && `on ${line(branch, 100)}`,
      sha && `at ${shortHash(sha)}`,
    ),
    details: [title && `Run: ${line(title)}`],
    link: run?.html_url,
  }
}

// ── Names ───────────────────────────────────────────────────────────────────────────────────────

export const nameOf = (person: Payload['sender']): string | undefined =>
  line(person?.login || person?.username, 100) || undefined

const subjectOf = (kind: string, subject: Subject): string =>
  words(kind, subject?.number ? `#${subject.number}` : '', quote(subject?.title))

const about = (subject: Subject): Pick<EventText, 'link' | 'number'> => ({
  link: subject?.html_url,
  number: subject?.number,
})
