// Describes GitLab's events for somebody who may have to act on them. `null` skips an event.
import { entryOf } from 'svc-gateway/plugin'
import type { Payload } from './payload.ts'

export interface EventText {
  /** Who did what, without a full stop. */
  head: string
  details?: readonly (string | false | null | undefined)[]
  link?: string | null | undefined
  text?: string | null | undefined
  /** The merge request or issue: `!7` or `#7`. */
  thing?: string | undefined
}

type EventHandler = (payload: Payload, who: string) => EventText | null

/** By `object_kind`. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  push: describePush,
  tag_push: ({ ref, after }, who) => ({ head: `${who} ${isNothing(after) ? 'deleted' : 'pushed'} tag ${nameOf(ref)}` }),
  issue: describeIssue,
  work_item: describeIssue,
  merge_request: describeMerge,
  note: describeNote,
  pipeline: describePipeline,
  build: describeJob,
  deployment: describeDeployment,
  release: ({ action, name, tag, description, url }, who) =>
    action === 'create' ? { head: `${who} released ${name ?? tag ?? ''}`, link: url, text: description } : null,
  wiki_page: ({ object_attributes: page }, who) => ({
    head: `${who} ${past(page?.action)} wiki page "${page?.title ?? ''}"`,
    link: page?.url,
  }),
  emoji: () => null,
}

/** Describes any other event: its name and the user. */
export const describeOther = (kind: string, { action, object_attributes: thing }: Payload, who: string): EventText => ({
  head: `${who}: ${[kind, action ?? thing?.action ?? ''].join(' ').trim().replaceAll('_', ' ')}`,
  link: thing?.url,
})

const mostListed = 10

const pastTenses: Readonly<Record<string, string>> = {
  open: 'opened',
  close: 'closed',
  reopen: 'reopened',
  merge: 'merged',
  approved: 'approved',
  unapproved: 'took back the approval of',
  create: 'created',
  update: 'changed',
  delete: 'deleted',
}

const past = (action: string | null | undefined): string => entryOf(pastTenses, action) ?? action ?? 'changed'
const nameOf = (ref: string | null | undefined): string => ref?.replace(/^refs\/(?:heads|tags)\//, '') ?? ''
const isNothing = (sha: string | null | undefined): boolean => /^0+$/.test(sha ?? '')
const short = (sha: string | null | undefined): string => sha?.slice(0, 8) ?? ''

function describePush(
  { ref, before, after, commits, total_commits_count: total, project }: Payload,
  who: string,
): EventText | null {
  if (isNothing(after)) return { head: `${who} deleted branch ${nameOf(ref)}` }
  if (!commits?.length) return isNothing(before) ? { head: `${who} created branch ${nameOf(ref)}` } : null
  const count = total ?? commits.length
  const listed = commits
    .slice(-mostListed)
    .map(
      ({ id, message, author }) => `- ${short(id)} ${message?.split('\n', 1)[0] ?? ''} (${author?.name ?? 'unknown'})`,
    )
  const link =
    project?.web_url && !isNothing(before)
      ? `${project.web_url}/-/compare/${short(before)}...${short(after)}`
      : undefined
  return {
    head: `${who} pushed ${count} ${count === 1 ? 'commit' : 'commits'} to ${nameOf(ref)}`,
    details: listed,
    link,
  }
}

function describeIssue({ object_attributes: issue, assignees }: Payload, who: string): EventText | null {
  if (!['open', 'close', 'reopen'].includes(issue?.action ?? '')) return null
  return {
    head: `${who} ${past(issue?.action)} issue #${issue?.iid ?? ''} "${issue?.title ?? ''}"`,
    details: [
      assignees?.length
        ? `Assigned to: ${assignees.map(({ name, username }) => name ?? username ?? '').join(', ')}`
        : undefined,
    ],
    link: issue?.url,
    text: issue?.action === 'open' ? issue.description : undefined,
    thing: `#${issue?.iid ?? ''}`,
  }
}

function describeMerge({ object_attributes: request }: Payload, who: string): EventText | null {
  if (!['open', 'close', 'reopen', 'merge', 'approved', 'unapproved'].includes(request?.action ?? '')) return null
  return {
    head: `${who} ${past(request?.action)} merge request !${request?.iid ?? ''} "${request?.title ?? ''}"`,
    details: [request?.source_branch && `${request.source_branch} → ${request.target_branch ?? ''}`],
    link: request?.url,
    text: request?.action === 'open' ? request.description : undefined,
    thing: `!${request?.iid ?? ''}`,
  }
}

/** System notes are skipped: another event reports the same change. */
function describeNote(
  { object_attributes: note, issue, merge_request: request, commit, snippet }: Payload,
  who: string,
): EventText | null {
  if (note?.system || note?.action === 'update') return null
  const about = { link: note?.url, text: note?.note }
  if (request)
    return {
      ...about,
      head: `${who} commented on merge request !${request.iid ?? ''} "${request.title ?? ''}"`,
      thing: `!${request.iid ?? ''}`,
    }
  if (issue)
    return {
      ...about,
      head: `${who} commented on issue #${issue.iid ?? ''} "${issue.title ?? ''}"`,
      thing: `#${issue.iid ?? ''}`,
    }
  if (snippet) return { ...about, head: `${who} commented on snippet "${snippet.title ?? ''}"` }
  return { ...about, head: `${who} commented on commit ${typeof commit?.id === 'string' ? short(commit.id) : ''}` }
}

function describePipeline({
  object_attributes: pipeline,
  builds,
  merge_request: request,
  project,
}: Payload): EventText | null {
  if (pipeline?.status !== 'failed') return null
  const failed = (builds ?? []).filter(({ status }) => status === 'failed').slice(0, mostListed)
  return {
    head: `Pipeline #${pipeline.id ?? ''} failed on ${pipeline.ref ?? ''}`,
    details: failed.map(({ name, stage }) => `- job ${name ?? ''} of stage ${stage ?? ''}`),
    link: pipeline.url ?? (project?.web_url && `${project.web_url}/-/pipelines/${pipeline.id ?? ''}`),
    thing: request?.iid ? `!${request.iid}` : undefined,
  }
}

function describeJob({
  build_id: id,
  build_name: name,
  build_stage: stage,
  build_status: status,
  build_failure_reason: reason,
  ref,
  project,
}: Payload): EventText | null {
  if (status !== 'failed') return null
  return {
    head: `Job "${name ?? ''}" of stage ${stage ?? ''} failed on ${ref ?? ''}`,
    details: [reason && reason !== 'unknown_failure' && `Reason: ${reason.replaceAll('_', ' ')}`],
    link: project?.web_url && `${project.web_url}/-/jobs/${id ?? ''}`,
  }
}

function describeDeployment({ status, environment, ref, deployable_url: link }: Payload): EventText | null {
  const outcomes: Record<string, string> = { success: 'succeeded', failed: 'failed' }
  const outcome = entryOf(outcomes, status)
  const target = typeof environment === 'string' ? environment : 'an environment'
  return outcome === undefined ? null : { head: `The deployment of ${ref ?? ''} to ${target} ${outcome}`, link }
}
