// Describes GitHub's events for somebody who may have to act on them. `null` skips an event.
import { describeRelease, line, plain, quote, refName, shortHash, words } from 'svc-gateway/kit'
import {
  describeBlock,
  describeDependency,
  describeImport,
  describeInstallation,
  describeInstalledRepositories,
  describeMember,
  describeMembership,
  describeOrganization,
  describeProperties,
  describePurchase,
  describeRepository,
  describeSecuritySettings,
  describeSponsorship,
  describeSubIssue,
  describeTeam,
  describeTokenRequest,
} from './administration.ts'
import {
  describeAdvisory,
  describeCodeAlert,
  describeDependencyAlert,
  describeSecretAlert,
  describeSecretLocation,
} from './alerts.ts'
import { changesOf } from './changes.ts'
import { describeCheck, describeDeployment, describeDeploymentReview, describeStatus, describeWorkflow } from './ci.ts'
import {
  describeCommitComment,
  describeDiscussion,
  describeDiscussionComment,
  describeIssue,
  describeIssueComment,
  describePull,
  describeReview,
  describeReviewComment,
} from './conversations.ts'
import { type EventHandler, type EventText, mostListed } from './event-text.ts'
import type { Payload } from './payload.ts'

/** By event name. `describeOther` describes all other events. */
export const eventHandlers: Readonly<Record<string, EventHandler>> = {
  push: describePush,
  create: ({ ref, ref_type: kind }, who) => ({ head: words(who, 'created', kind ?? 'ref', ref) }),
  delete: ({ ref, ref_type: kind }, who) => ({ head: words(who, 'deleted', kind ?? 'ref', ref) }),
  issues: describeIssue,
  pull_request: describePull,
  discussion: describeDiscussion,
  issue_comment: describeIssueComment,
  discussion_comment: describeDiscussionComment,
  pull_request_review_comment: describeReviewComment,
  commit_comment: describeCommitComment,
  pull_request_review: describeReview,
  sub_issues: describeSubIssue,
  issue_dependencies: describeDependency,
  release: describeRelease,
  workflow_run: describeWorkflow,
  check_run: describeCheck,
  status: describeStatus,
  deployment_status: describeDeployment,
  deployment_review: describeDeploymentReview,
  page_build: ({ build }) =>
    build?.error?.message ? { head: 'The build of the pages failed', text: build.error.message } : null,
  fork: ({ forkee }, who) => ({
    head: words(who, 'forked the repository', forkee?.full_name && `to ${forkee.full_name}`),
    link: forkee?.html_url,
  }),
  public: (_payload, who) => ({ head: `${who} made the repository public` }),
  gollum: ({ pages }, who) => ({
    head: `${who} changed the wiki`,
    details: (pages ?? [])
      .slice(0, mostListed)
      .map(({ title, action, html_url: link }) => words('-', line(title), action && `(${plain(action)})`, link)),
  }),
  dependabot_alert: describeDependencyAlert('Dependabot alert'),
  repository_vulnerability_alert: describeDependencyAlert('vulnerability alert'),
  code_scanning_alert: describeCodeAlert,
  secret_scanning_alert: describeSecretAlert,
  secret_scanning_alert_location: describeSecretLocation,
  security_advisory: describeAdvisory,
  repository_advisory: describeAdvisory,
  member: describeMember,
  membership: describeMembership,
  organization: describeOrganization,
  org_block: describeBlock,
  team: describeTeam,
  team_add: describeTeam,
  repository: describeRepository,
  repository_import: describeImport,
  security_and_analysis: describeSecuritySettings,
  custom_property_values: describeProperties,
  repository_dispatch: ({ action }, who) => ({ head: words(who, 'sent the repository dispatch', quote(action)) }),
  meta: (_payload, who) => ({ head: `${who} deleted this webhook` }),
  installation: describeInstallation,
  installation_repositories: describeInstalledRepositories,
  // The names of 2016 to 2018.
  integration_installation: describeInstallation,
  integration_installation_repositories: describeInstalledRepositories,
  github_app_authorization: (_payload, who) => ({ head: `${who} revoked the authorization of the app` }),
  marketplace_purchase: describePurchase,
  sponsorship: describeSponsorship,
  personal_access_token_request: describeTokenRequest,
}

/**
 * Describes any other event with its name, its action, its subject if it has a name, and the sender. Most actions are
 * past participles: `created` of the event `deploy_key` becomes `created deploy key`.
 */
export function describeOther(event: string, payload: Payload, who: string): EventText {
  const { milestone, package: published, registry_package: registered, key, rule, definition, account, team } = payload
  const subject = milestone ?? published ?? registered ?? key ?? rule ?? payload.repository_ruleset ?? definition
  const named = subject ?? account ?? team ?? payload.user
  const name = quote(named?.login || named?.name || named?.title || named?.property_name)
  const action = plain(payload.action)
  const head = /^\w+ed$/.test(action)
    ? words(who, action, plain(event), name)
    : words(`${who}:`, plain(event), action, name)
  return { head, details: changesOf(payload.changes, named, payload), link: named?.html_url }
}

/** `create` and `delete` report new and deleted branches and tags. */
function describePush(payload: Payload, who: string): EventText | null {
  const { ref, created, deleted, forced, compare, commits, after } = payload
  const target = refName(ref)
  if (deleted) return null
  if (!commits?.length) {
    // Without `forced`, the commits are already known from another branch.
    const change = ref?.startsWith('refs/tags/') ? 'moved tag' : 'removed commits with a force-push to'
    return forced && !created
      ? { head: words(who, change, target), details: [after && `Now at ${shortHash(after)}`], link: compare }
      : null
  }
  const listed = commits.slice(0, mostListed).map(({ id, message, author }) => {
    const name = line(author?.username ?? author?.name, 100)
    return words('-', shortHash(id), line(message?.trimStart().split('\n', 1)[0]), name && `(${name})`)
  })
  const more = commits.length > mostListed && `- and ${commits.length - mostListed} more`
  const count = commits.length === 1 ? '1 commit' : `${commits.length} commits`
  return {
    head: words(who, `${forced ? 'force-' : ''}pushed`, count, target && `to ${target}`),
    details: [...listed, more],
    link: compare,
  }
}
