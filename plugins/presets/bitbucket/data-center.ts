// The webhooks of Bitbucket Data Center: their fields by the names that Cloud uses, and the events that Cloud lacks.
import { line, quote, refName, shortHash, words } from 'svc-gateway/kit'
import {
  aboutPull,
  commitLine,
  commitOf,
  describeComment,
  describePull,
  type EventHandler,
  type EventText,
  listed,
  pullOf,
} from './event-text.ts'
import type { Payload, RefChange } from './payload.ts'

type Repository = Payload['repository']
type Text = string | null | undefined

/** Returns the payload with the fields of Cloud, so that most events need no function of their own. */
export function asCloudPayload(payload: Payload): Payload {
  const { comment, pullRequest: pull, secretLocations: secrets } = payload
  const repository = payload.repository ?? pull?.toRef?.repository ?? payload.new ?? secrets?.[0]?.repository
  // Every payload about a fork has the original repository, but only this event is about both.
  const origin = payload.eventKey === 'repo:forked' ? repository?.origin : undefined
  const page = pageOf(pull)
  return {
    ...payload,
    repository: asCloudRepository(origin ?? repository),
    fork: asCloudRepository(origin && repository),
    pullrequest: pull && {
      ...pull,
      source: { branch: { name: pull.fromRef?.displayId } },
      destination: { branch: { name: pull.toRef?.displayId } },
      links: { html: { href: page } },
    },
    comment: comment && {
      ...comment,
      content: { raw: comment.text },
      user: comment.author,
      links: { html: { href: page && comment.id ? `${page}/overview?commentId=${comment.id}` : page } },
    },
  }
}

function asCloudRepository(repository: Repository): Repository {
  if (!repository) return undefined
  const path = [repository.project?.key ?? repository.key, repository.slug].filter(Boolean).join('/')
  return { full_name: path, links: { html: { href: pageOf(repository) } } }
}

/** The first link to itself. */
function pageOf(thing: Pick<NonNullable<Repository>, 'links'> | null | undefined): Text {
  const self = thing?.links?.self
  return Array.isArray(self) ? self[0]?.href : undefined
}

/** By the header X-Event-Key: the events that Cloud reports in another way, or not at all. */
export const dataCenterHandlers: Readonly<Record<string, EventHandler>> = {
  'repo:refs_changed': describePush,
  'repo:modified': describeRename('the repository'),
  'project:modified': describeRename('the project'),
  'repo:comment:edited': describeCommitRemark('edited'),
  'repo:comment:deleted': describeCommitRemark('deleted'),
  'repo:secret_detected': ({ secretLocations: secrets }, who) => ({
    head: `${who} pushed a secret`,
    details: listed(secrets ?? [], ({ ruleName: rule, path, line: row, commitId }) =>
      words(
        '-',
        line(rule, 100) || 'a secret',
        path && `in ${line(path)}${row ? `:${row}` : ''}`,
        commitId && `at ${shortHash(commitId)}`,
      ),
    ),
  }),
  'mirror:repo_synchronized': ({ mirrorServer: mirror, changes }) => ({
    head: words('Mirror', quote(mirror?.name), 'synchronized the repository'),
    details: listed(refsOf(changes), refLine),
  }),
  'pr:from_ref_updated': (payload, who) => ({
    ...aboutPull(payload),
    head: `${who} updated the source branch of ${pullOf(payload)}`,
    details: [between(payload.previousFromHash, payload.pullRequest?.fromRef?.latestCommit)],
  }),
  'pr:modified': (payload, who) => {
    const { previousTitle: title, previousTarget: target, pullRequest: pull } = payload
    const isMoved = target?.displayId && target.displayId !== pull?.toRef?.displayId
    return {
      ...aboutPull(payload),
      head: `${who} changed ${pullOf(payload)}`,
      details: [
        title && title !== pull?.title && `Title before: ${line(title)}`,
        isMoved && `Target: ${line(target.displayId, 200)} → ${line(pull?.toRef?.displayId, 200)}`,
      ],
      text: payload.previousDescription === pull?.description ? undefined : pull?.description,
    }
  },
  'pr:reviewer:updated': (payload, who) => ({
    ...aboutPull(payload),
    head: `${who} changed the reviewers of ${pullOf(payload)}`,
    details: [namesOf('Added', payload.addedReviewers), namesOf('Removed', payload.removedReviewers)],
  }),
  'pr:reviewer:unapproved': (payload, who) =>
    describePull(
      payload.previousStatus === 'NEEDS_WORK' ? 'took back the request for changes to' : 'took back the approval of',
    )(payload, who),
  'pr:comment:edited': (payload, who) =>
    describeComment(`${who} ${editOf(payload)} a comment on ${pullOf(payload)}`, payload),
  'pr:comment:deleted': (payload, who) => describeComment(`${who} deleted a comment on ${pullOf(payload)}`, payload),
}

// ── Pushes ──────────────────────────────────────────────────────────────────────────────────────

/** The payload has the last commits of all branches together; it has none before version 8. */
function describePush({ changes, commits }: Payload, who: string): EventText | null {
  const refs = refsOf(changes)
  const [first] = refs
  if (!first) return null
  const last = listed(commits ?? [], ({ id, message, author }) =>
    commitLine({ hash: id, message, author: author?.displayName || author?.name }),
  )
  return refs.length === 1
    ? { head: `${who} ${changeText(first)}`, details: [hashesOf(first), ...last] }
    : {
        head: `${who} changed ${refs.length} branches and tags`,
        details: [...listed(refs, refLine), ...last],
      }
}

const refsOf = (changes: Payload['changes']): readonly RefChange[] => (Array.isArray(changes) ? changes : [])

function changeText({ ref, refId, type }: RefChange): string {
  const kind = ref?.type === 'TAG' || refId?.startsWith('refs/tags/') ? 'tag' : 'branch'
  const name = line(ref?.displayId || refName(refId), 200)
  const named = name ? `${kind} ${name}` : `a ${kind}`
  if (type === 'ADD') return `created ${named}`
  if (type === 'DELETE') return `deleted ${named}`
  return kind === 'tag' ? `moved ${named}` : `pushed to ${name || 'a branch'}`
}

function refLine(change: RefChange): string {
  const hashes = hashesOf(change)
  return words('-', changeText(change), hashes && `(${hashes})`)
}

const hashesOf = ({ type, fromHash, toHash }: RefChange): string => (type === 'UPDATE' ? between(fromHash, toHash) : '')

const between = (before: Text, after: Text): string =>
  before && after ? `${shortHash(before)} → ${shortHash(after)}` : ''

// ── Names and comments ──────────────────────────────────────────────────────────────────────────

function describeRename(kind: string): EventHandler {
  return ({ old: before, new: after }, who) => ({
    head:
      before?.name && after?.name && before.name !== after.name
        ? `${who} renamed ${kind} from ${quote(before.name, 100)} to ${quote(after.name, 100)}`
        : `${who} changed ${kind}`,
  })
}

function describeCommitRemark(verb: string): EventHandler {
  return (payload, who) =>
    describeComment(words(who, verb, 'a comment on commit', shortHash(commitOf(payload))), payload)
}

/** A thread that is resolved is reported as an edit without another text. */
function editOf({ comment, previousComment }: Payload): string {
  const isSame = previousComment !== undefined && comment?.text === previousComment
  return isSame && (comment?.threadResolved || comment?.state === 'RESOLVED') ? 'resolved' : 'edited'
}

function namesOf(label: string, people: Payload['addedReviewers']): string {
  const names = (people ?? []).slice(0, 20).flatMap(({ displayName, name }) => line(displayName || name, 100) || [])
  return names.length > 0 ? `${label}: ${names.join(', ')}` : ''
}
