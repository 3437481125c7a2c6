// Describes GitLab's events for somebody who may have to act on them. `null` skips an event.
import { line, plain, quote, refName, shortHash, words } from 'svc-gateway/kit'
import { accountEvents } from './accounts.ts'
import { describeDeployment, describeJob, describePipeline } from './ci.ts'
import { type EventHandler, type EventText, isNothing, mostListed, pastTense } from './event-text.ts'
import type { Payload } from './payload.ts'
import { describeIssue, describeMerge, describeMilestone, describeNote } from './planning.ts'
import { describeToken, describeVulnerability } from './security.ts'

/** By `object_kind`, or `event_name` if there is none. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  push: describePush,
  tag_push: ({ ref, after }, who) => ({
    head: words(who, isNothing(after) ? 'deleted' : 'pushed', 'tag', refName(ref)),
  }),
  issue: describeIssue,
  work_item: describeIssue,
  merge_request: describeMerge,
  note: describeNote,
  milestone: describeMilestone,
  pipeline: describePipeline,
  build: describeJob,
  deployment: describeDeployment,
  release: describeRelease,
  wiki_page: ({ object_attributes: page }, who) => ({
    head: words(who, pastTense(page?.action), 'wiki page', quote(page?.title)),
    link: page?.url,
  }),
  feature_flag: ({ object_attributes: flag }, who) => ({
    head: words(who, flag?.active === false ? 'turned off' : 'turned on', 'feature flag', quote(flag?.name)),
    text: flag?.description,
  }),
  vulnerability: describeVulnerability,
  access_token: describeToken('access token'),
  deploy_token: describeToken('deploy token'),
  emoji: () => null,
  repository_update: () => null,
  ...accountEvents,
}

/** Describes any other event: its name, and the user if there is one. */
export const describeOther = (
  kind: string,
  { action, object_attributes: thing, name }: Payload,
  who: string | undefined,
): EventText => ({
  head: words(
    who && `${who}:`,
    plain(kind),
    plain(action ?? thing?.action),
    quote(thing?.title ?? thing?.name ?? name),
  ),
  link: thing?.url,
})

/** The payload has the last twenty commits, and none in system hooks. */
function describePush(
  { ref, before, after, commits, total_commits_count: total, project }: Payload,
  who: string,
): EventText {
  const branch = words('branch', refName(ref))
  if (isNothing(after)) return { head: `${who} deleted ${branch}` }
  const count = total ?? commits?.length ?? 0
  const isNew = isNothing(before)
  if (count === 0 && isNew) return { head: `${who} created ${branch}` }
  const link =
    project?.web_url && before && after && !isNew ? `${project.web_url}/-/compare/${before}...${after}` : undefined
  if (count === 0)
    return { head: `${who} removed commits from ${branch}`, details: [after && `Now at ${shortHash(after)}`], link }
  const listed = (commits ?? []).slice(-mostListed).map(({ id, message, author }) => {
    const name = line(author?.name, 100)
    return words('-', shortHash(id), line(message?.trimStart().split('\n', 1)[0]), name && `(${name})`)
  })
  const more = count > listed.length && listed.length > 0 && `- and ${count - listed.length} more`
  const target = refName(ref)
  const pushed = `${count} ${count === 1 ? 'commit' : 'commits'}`
  return {
    head: isNew ? `${who} created ${branch} with ${pushed}` : words(who, 'pushed', pushed, target && `to ${target}`),
    details: [...listed, more],
    link,
  }
}

/** GitLab does not say who published a release. */
function describeRelease({ action, name, tag, description, url }: Payload): EventText | null {
  if (action !== 'create') return null
  const release = name || (typeof tag === 'string' ? tag : undefined)
  return {
    head: words('Release', quote(release), 'was published'),
    details: [typeof tag === 'string' && tag !== release && `Tag: ${tag}`],
    link: url,
    text: description,
  }
}
