// Issues, pull requests, discussions, and what people write about them.
import { entryOf, shortHash, words } from 'svc-gateway/kit'
import { type EventHandler, type EventText, nameOf } from './event-text.ts'
import type { Payload, Remark, Subject } from './payload.ts'

export const describeIssue: EventHandler = ({ action, issue, assignee, changes }, who) => {
  if (action === 'transferred') return describeTransfer(issue, changes, who)
  if (!['opened', 'closed', 'reopened', 'assigned', 'deleted'].includes(action ?? '')) return null
  const to = action === 'assigned' && assignee?.login && `to ${assignee.login}`
  const { old_repository: source, old_issue: before } = changes ?? {}
  const origin = source?.full_name && `${source.full_name}${before?.number ? `#${before.number}` : ''}`
  return {
    ...about(issue),
    head: words(who, action, nameOf(issue), to),
    details: [action === 'opened' && origin && `Transferred from: ${origin}`],
    text: action === 'opened' ? issue?.body : undefined,
  }
}

/** GitHub reports the issue by its old number, and as opened in the new repository. */
function describeTransfer(issue: Payload['issue'], changes: Payload['changes'], who: string): EventText {
  const { new_issue: moved, new_repository: target } = changes ?? {}
  const number = moved?.number ? `#${moved.number}` : ''
  return {
    number: issue?.number,
    head: words(who, 'transferred', nameOf(issue), target?.full_name && `to ${target.full_name}${number}`),
    link: moved?.html_url ?? target?.html_url ?? issue?.html_url,
  }
}

export const describePull: EventHandler = (payload, who) => {
  const { action, pull_request: pull, assignee, requested_reviewer: reviewer, requested_team: team } = payload
  const name = nameOf(pull, 'pull request')
  const asked = reviewer?.login ?? (team?.name ? `team ${team.name}` : 'a team')
  const heads: Record<string, string> = {
    opened: `${who} opened ${pull?.draft ? 'draft ' : ''}${name}`,
    closed: `${who} ${pull?.merged ? 'merged' : 'closed without merging'} ${name}`,
    reopened: `${who} reopened ${name}`,
    ready_for_review: `${who} marked ${name} as ready for review`,
    review_requested: `${who} asked ${asked} to review ${name}`,
    assigned: words(who, 'assigned', name, assignee?.login && `to ${assignee.login}`),
  }
  const head = entryOf(heads, action)
  if (head === undefined) return null
  const branches = [pull?.head?.ref, pull?.base?.ref].filter(Boolean).join(' → ')
  const size = typeof pull?.additions === 'number' && `+${pull.additions} −${pull.deletions ?? 0}`
  return {
    ...about(pull),
    head,
    details: [[branches, size].filter(Boolean).join(', ')],
    text: action === 'opened' ? pull?.body : undefined,
  }
}

export const describeDiscussion: EventHandler = ({ action, discussion, answer }, who) => {
  const name = nameOf(discussion, 'discussion')
  if (action === 'created') return { ...about(discussion), head: `${who} began ${name}`, text: discussion?.body }
  if (action === 'closed' || action === 'reopened' || action === 'deleted')
    return { ...about(discussion), head: `${who} ${action} ${name}` }
  return action === 'answered'
    ? { ...about(discussion), head: `${who} marked an answer to ${name}`, text: answer?.body }
    : null
}

/** A review with comments only: each comment is an event of its own. */
export const describeReview: EventHandler = ({ action, review, pull_request: pull }, who) => {
  const pastTenses: Record<string, string> = {
    approved: 'approved',
    changes_requested: 'asked for changes to',
    commented: 'reviewed',
  }
  if (action === 'dismissed')
    return {
      ...about(pull),
      head: words(
        who,
        'dismissed the review',
        review?.user?.login && `of ${review.user.login}`,
        `of ${nameOf(pull, 'pull request')}`,
      ),
    }
  // Written in capitals by some versions.
  const state = review?.state?.toLowerCase()
  const pastTense = entryOf(pastTenses, state)
  if (action !== 'submitted' || pastTense === undefined || (state === 'commented' && !review?.body)) return null
  return describeRemark(`${who} ${pastTense} ${nameOf(pull, 'pull request')}`, {
    action: 'created',
    subject: pull,
    remark: review,
  })
}

export const describeIssueComment: EventHandler = ({ action, issue, comment }, who) =>
  describeRemark(`${who} commented on ${nameOf(issue)}`, { action, subject: issue, remark: remarkOf(comment) })

export const describeDiscussionComment: EventHandler = ({ action, discussion, comment }, who) =>
  describeRemark(`${who} commented on ${nameOf(discussion, 'discussion')}`, {
    action,
    subject: discussion,
    remark: remarkOf(comment),
  })

export const describeReviewComment: EventHandler = ({ action, pull_request: subject, comment }, who) => {
  const remark = remarkOf(comment)
  const name = nameOf(subject, 'pull request')
  return describeRemark(`${who} commented on ${remark?.path ?? 'a file'} of ${name}`, { action, subject, remark })
}

export const describeCommitComment: EventHandler = ({ action, comment }, who) => {
  const remark = remarkOf(comment)
  return describeRemark(words(who, 'commented on commit', shortHash(remark?.commit_id)), { action, remark })
}

const remarkOf = (comment: Payload['comment']): Remark | undefined =>
  typeof comment === 'object' && comment !== null ? comment : undefined

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

const about = (subject: Subject | null | undefined): Pick<EventText, 'link' | 'number'> => ({
  link: subject?.html_url,
  number: subject?.number,
})
