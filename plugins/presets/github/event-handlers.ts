// Describes GitHub's events for somebody who may have to act on them. `null` skips an event.
import { entryOf } from 'svc-gateway/plugin'
import { describeCheck, describeDeployment, describeStatus, describeWorkflow } from './ci.ts'
import { type EventText, short, type EventHandler } from './event-text.ts'
import type { Payload, Remark, Subject } from './payload.ts'

/** By event name. `describeOther` describes all other events. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  push: describePush,
  create: ({ ref, ref_type: kind }, who) => ({ head: `${who} created ${kind ?? 'ref'} ${ref ?? ''}` }),
  delete: ({ ref, ref_type: kind }, who) => ({ head: `${who} deleted ${kind ?? 'ref'} ${ref ?? ''}` }),
  issues: describeIssue,
  pull_request: describePull,
  discussion: describeDiscussion,
  issue_comment: ({ action, issue, comment }, who) =>
    describeRemark(`${who} commented on ${nameOf(issue)}`, { action, subject: issue, remark: comment }),
  discussion_comment: ({ action, discussion, comment }, who) =>
    describeRemark(`${who} commented on ${nameOf(discussion, 'discussion')}`, {
      action,
      subject: discussion,
      remark: comment,
    }),
  pull_request_review_comment: ({ action, pull_request: subject, comment }, who) =>
    describeRemark(`${who} commented on ${comment?.path ?? 'a file'} of ${nameOf(subject, 'pull request')}`, {
      action,
      subject,
      remark: comment,
    }),
  commit_comment: ({ action, comment }, who) =>
    describeRemark(`${who} commented on commit ${short(comment?.commit_id)}`, { action, remark: comment }),
  pull_request_review: describeReview,
  release: describeRelease,
  workflow_run: describeWorkflow,
  check_run: describeCheck,
  status: describeStatus,
  deployment_status: describeDeployment,
  page_build: ({ build }) =>
    build?.error?.message ? { head: 'The build of the pages failed', text: build.error.message } : null,
  fork: ({ forkee }, who) => ({
    head: `${who} forked the repository to ${forkee?.full_name ?? ''}`,
    link: forkee?.html_url,
  }),
  public: (_payload, who) => ({ head: `${who} made the repository public` }),
  gollum: ({ pages }, who) => ({
    head: `${who} changed the wiki`,
    details: (pages ?? [])
      .slice(0, mostListed)
      .map(({ title, action, html_url: link }) => `- ${title ?? ''} (${action ?? ''}) ${link ?? ''}`),
  }),
  dependabot_alert: describeAlert('Dependabot alert'),
  repository_vulnerability_alert: describeAlert('vulnerability alert'),
  code_scanning_alert: describeAlert('code scanning alert'),
  secret_scanning_alert: describeAlert('secret scanning alert'),
  security_advisory: ({ action, security_advisory: advisory }) =>
    action === 'published'
      ? {
          head:
            `Security advisory ${advisory?.ghsa_id ?? ''} ` +
            `(${advisory?.severity ?? ''}): ${advisory?.summary ?? ''}`,
        }
      : null,
}

/** Describes any other event: its name, its action, its subject if it has a name, and the sender. */
export function describeOther(event: string, payload: Payload, who: string): EventText {
  const { action, member, milestone, package: published, key, rule, blocked_user: blocked, team } = payload
  const subject = member ?? milestone ?? published ?? key ?? rule ?? blocked ?? team
  const name = subject?.login ?? subject?.name ?? subject?.title
  return { head: `${who}: ${plain(`${event} ${action ?? ''}`)}${name ? ` "${name}"` : ''}`, link: subject?.html_url }
}

const plain = (words: string): string => words.trim().replaceAll('_', ' ')

const mostListed = 10

const nameOf = (subject: Subject | null | undefined, kind = subject?.pull_request ? 'pull request' : 'issue'): string =>
  `${kind} #${subject?.number ?? ''} "${subject?.title ?? ''}"`

/** `create` and `delete` report new and deleted branches and tags. */
function describePush({ ref, deleted, forced, compare, commits }: Payload, who: string): EventText | null {
  if (deleted || !commits?.length) return null
  const listed = commits.slice(0, mostListed).map(({ id, message, author }) => {
    return `- ${short(id)} ${message?.split('\n', 1)[0] ?? ''} (${author?.username ?? author?.name ?? 'unknown'})`
  })
  const more = commits.length > mostListed && `- and ${commits.length - mostListed} more`
  const count = commits.length === 1 ? '1 commit' : `${commits.length} commits`
  return {
    head: `${who} ${forced ? 'force-' : ''}pushed ${count} to ${ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''}`,
    details: [...listed, more],
    link: compare,
  }
}

function describeIssue({ action, issue, assignee }: Payload, who: string): EventText | null {
  if (!['opened', 'closed', 'reopened', 'assigned', 'transferred', 'deleted'].includes(action ?? '')) return null
  const to = action === 'assigned' && assignee?.login ? ` to ${assignee.login}` : ''
  return {
    ...about(issue),
    head: `${who} ${action} ${nameOf(issue)}${to}`,
    text: action === 'opened' ? issue?.body : undefined,
  }
}

function describePull(
  { action, pull_request: pull, assignee, requested_reviewer: reviewer }: Payload,
  who: string,
): EventText | null {
  const name = nameOf(pull, 'pull request')
  const heads: Record<string, string> = {
    opened: `${who} opened ${pull?.draft ? 'draft ' : ''}${name}`,
    closed: `${who} ${pull?.merged ? 'merged' : 'closed without merging'} ${name}`,
    reopened: `${who} reopened ${name}`,
    ready_for_review: `${who} marked ${name} as ready for review`,
    review_requested: `${who} asked ${reviewer?.login ?? 'a team'} to review ${name}`,
    assigned: `${who} assigned ${name} to ${assignee?.login ?? ''}`,
  }
  const head = entryOf(heads, action)
  if (head === undefined) return null
  const size =
    pull?.additions !== undefined &&
    `${pull.head?.ref ?? ''} → ${pull.base?.ref ?? ''}, +${pull.additions} −${pull.deletions ?? 0}`
  return { ...about(pull), head, details: [size], text: action === 'opened' ? pull?.body : undefined }
}

function describeDiscussion({ action, discussion, answer }: Payload, who: string): EventText | null {
  const name = nameOf(discussion, 'discussion')
  if (action === 'created') return { ...about(discussion), head: `${who} began ${name}`, text: discussion?.body }
  return action === 'answered'
    ? { ...about(discussion), head: `${who} marked an answer to ${name}`, text: answer?.body }
    : null
}

/** A review with comments only: each comment is an event of its own. */
function describeReview({ action, review, pull_request: pull }: Payload, who: string): EventText | null {
  const pastTenses: Record<string, string> = {
    approved: 'approved',
    changes_requested: 'asked for changes to',
    commented: 'reviewed',
  }
  const pastTense = entryOf(pastTenses, review?.state)
  if (action !== 'submitted' || pastTense === undefined || (review?.state === 'commented' && !review.body)) return null
  return describeRemark(`${who} ${pastTense} ${nameOf(pull, 'pull request')}`, {
    action: 'created',
    subject: pull,
    remark: review,
  })
}

interface Remarked {
  action: string | null | undefined
  subject?: Subject | null | undefined
  remark: Remark | null | undefined
}

/** Comments of bots are skipped: an agent that comments would otherwise answer its own comments. */
function describeRemark(head: string, { action, subject, remark }: Remarked): EventText | null {
  if (action !== 'created' || remark?.user?.type === 'Bot') return null
  return { ...about(subject), head, link: remark?.html_url, text: remark?.body }
}

function describeRelease({ action, release }: Payload, who: string): EventText | null {
  if (action !== 'published' && action !== 'deleted') return null
  const title = release?.name && release.name !== release.tag_name ? ` "${release.name}"` : ''
  return {
    head: `${who} ${action} release ${release?.tag_name ?? ''}${title}`,
    link: release?.html_url,
    text: action === 'published' ? release?.body : undefined,
  }
}

/** The oldest of these events uses the imperative for its action. */
const pastOf: Readonly<Record<string, string>> = { create: 'created', dismiss: 'dismissed', resolve: 'resolved' }

function describeAlert(kind: string): EventHandler {
  return ({ action, alert }) => {
    const what = alert?.rule?.description ?? alert?.security_advisory?.summary ?? alert?.secret_type_display_name
    const where = alert?.dependency?.package?.name ?? alert?.affected_package_name
    const severity = alert?.rule?.severity ?? alert?.security_advisory?.severity
    const about = [severity && `(${severity})`, what && `"${what}"`, where && `for ${where}`].filter(Boolean).join(' ')
    return {
      head: `The ${kind} ${about || 'of a dependency'} was ${entryOf(pastOf, action) ?? plain(action ?? 'changed')}`,
      link: alert?.html_url,
    }
  }
}

const about = (subject: Subject | null | undefined): Pick<EventText, 'link' | 'number'> => ({
  link: subject?.html_url,
  number: subject?.number,
})
