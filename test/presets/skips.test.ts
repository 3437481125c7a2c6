// The list of skipped events in docs/presets.md: each event and action that a preset skips by its name, and no other.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import examples from '@octokit/webhooks-examples'
import { describe, expect, it } from 'vitest'
import { loadPresets } from './deliver.ts'

const presets = await loadPresets()
const page = await readFile(join(import.meta.dirname, '..', '..', 'docs', 'presets.md'), 'utf8')

/** The names that the documentation of each service gives to its events, and to their actions. */
type Events = Readonly<Record<string, string>>

const issueActions =
  'opened edited closed reopened assigned unassigned labeled unlabeled locked unlocked milestoned demilestoned'
const remarkActions = 'created edited deleted'

const githubExamples = Object.fromEntries(
  (examples as unknown as { name: string; examples: { action?: string }[] }[]).map(({ name, examples: all }) => [
    name,
    all.map(({ action }) => action ?? '').join(' '),
  ]),
)
const githubEvents: Events = {
  ...githubExamples,
  issues: `${issueActions} deleted pinned unpinned transferred typed untyped`,
  pull_request:
    `${issueActions} synchronize ready_for_review converted_to_draft review_requested review_request_removed ` +
    'auto_merge_enabled auto_merge_disabled enqueued dequeued',
  discussion:
    'created edited deleted closed reopened answered unanswered category_changed labeled unlabeled locked unlocked ' +
    'pinned unpinned transferred',
  issue_comment: `${remarkActions} pinned unpinned`,
  discussion_comment: remarkActions,
  pull_request_review: 'submitted edited dismissed',
  pull_request_review_comment: remarkActions,
  release: 'published unpublished created edited deleted prereleased released',
  workflow_run: 'completed in_progress requested',
  check_run: 'completed created requested_action rerequested',
  deployment_review: 'approved rejected requested',
  security_advisory: 'published updated withdrawn',
  repository_advisory: 'published reported',
  secret_scanning_alert_location: 'created',
  secret_scanning_scan: 'completed',
  sub_issues: 'parent_issue_added parent_issue_removed sub_issue_added sub_issue_removed',
  issue_dependencies: 'blocked_by_added blocked_by_removed blocking_added blocking_removed',
  projects_v2_status_update: 'created deleted edited',
  personal_access_token_request: 'created approved denied cancelled',
}

const events: Readonly<Record<string, Events>> = {
  github: githubEvents,
  gitlab: {
    issue: 'open close reopen update',
    work_item: 'open close reopen update',
    merge_request: 'open close reopen update merge approved unapproved approval unapproval',
    note: 'create update',
    release: 'create update delete',
    emoji: 'award revoke',
    repository_update: '',
    push: '',
    tag_push: '',
    milestone: 'create close reopen',
    wiki_page: 'create update delete',
    feature_flag: '',
    member_approval: 'enqueued',
    project_create: '',
  },
  bitbucket: Object.fromEntries(
    (
      'repo:push repo:fork repo:updated repo:imported repo:commit_comment_created issue:created issue:comment_created ' +
      'pullrequest:created pullrequest:updated pullrequest:push pullrequest:approved pullrequest:unapproved ' +
      'pullrequest:changes_request_created pullrequest:changes_request_removed pullrequest:fulfilled ' +
      'pullrequest:rejected pullrequest:comment_created pullrequest:comment_updated pullrequest:comment_deleted ' +
      'pullrequest:comment_resolved pullrequest:comment_reopened repo:transfer repo:deleted diagnostics:ping'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  gitea: {
    push: '',
    create: '',
    delete: '',
    fork: '',
    issues: `${issueActions.replaceAll('labeled unlabeled', 'label_updated label_cleared')} deleted`,
    pull_request:
      `${issueActions.replaceAll('labeled unlabeled', 'label_updated label_cleared')} synchronized review_requested ` +
      'review_request_removed',
    issue_comment: remarkActions,
    pull_request_approved: 'reviewed',
    pull_request_rejected: 'reviewed',
    pull_request_comment: 'reviewed',
    release: 'published updated deleted',
    wiki: 'created edited deleted',
    repository: 'created deleted',
    package: 'created deleted',
    workflow_job: 'queued in_progress completed',
    action_run_failure: '',
    action_run_recover: '',
    action_run_success: '',
    schedule: '',
  },
  stripe: Object.fromEntries(
    (
      'account.updated balance.available billing_portal.configuration.created billing_portal.configuration.updated ' +
      'billing_portal.session.created charge.captured charge.expired charge.failed charge.pending charge.refunded ' +
      'charge.succeeded charge.updated charge.dispute.created checkout.session.completed coupon.created ' +
      'customer.created customer.deleted customer.updated customer.subscription.created invoice.created ' +
      'invoice.deleted invoice.finalized invoice.finalization_failed invoice.overdue invoice.paid ' +
      'invoice.payment_failed invoice.sent invoice.upcoming invoice.updated invoice.voided invoice.will_be_due ' +
      'invoiceitem.created invoiceitem.deleted payment_intent.canceled payment_intent.created ' +
      'payment_intent.payment_failed payment_intent.processing payment_intent.requires_action ' +
      'payment_intent.succeeded payout.paid quote.created setup_intent.created setup_intent.succeeded topup.created'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  shopify: Object.fromEntries(
    (
      'app/uninstalled audit_events/admin_api_activity bulk_operations/finish carts/create carts/update ' +
      'checkouts/create checkouts/update collection_listings/add collection_publications/create collections/create ' +
      'customer.joined_segment customer.left_segment customer.tags_added customers/create customers/delete ' +
      'customers/disable customers/enable customers/merge customers/update disputes/create draft_orders/create ' +
      'draft_orders/update fulfillments/create inventory_items/update inventory_levels/update locales/create ' +
      'locations/create metaobjects/create orders/cancelled orders/create orders/edited orders/paid orders/updated ' +
      'product_feeds/create product_listings/add product_publications/create products/create products/delete ' +
      'products/update profiles/create refunds/create returns/request shop/update tender_transactions/create ' +
      'themes/publish variants/in_stock'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  slack: Object.fromEntries(
    (
      'app_context_changed app_home_opened app_mention app_uninstalled assistant_thread_context_changed ' +
      'assistant_thread_started channel_archive channel_created channel_history_changed dnd_updated dnd_updated_user ' +
      'emoji_changed entity_details_requested file_change file_comment_added file_created file_deleted file_public ' +
      'file_shared group_close group_history_changed group_open im_close im_created im_history_changed im_open ' +
      'link_shared member_joined_channel message pin_added presence_change reaction_added star_added star_removed ' +
      'subteam_created team_join tokens_revoked user_change user_huddle_changed user_profile_changed ' +
      'user_status_changed user_typing'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  sentry: {
    issue: 'created resolved assigned archived ignored unresolved',
    event_alert: 'triggered',
    metric_alert: 'critical warning resolved',
    error: 'created',
    comment: 'created updated deleted',
    installation: 'created deleted',
    seer: 'root_cause_started',
    preprod_artifact: 'size_analysis_completed',
  },
  linear: {
    Issue: 'create remove restore',
    Project: 'create remove restore',
    Initiative: 'create remove',
    Comment: 'create update remove',
    ProjectUpdate: 'create update remove',
    InitiativeUpdate: 'create update remove',
    IssueSLA: 'set highRisk breached',
    AppUserNotification: 'issueMention issueAssignedToYou issueNewComment issueEmojiReaction',
    AgentSessionEvent: 'created prompted',
    ...Object.fromEntries(
      'Attachment Cycle Customer CustomerNeed Document IssueLabel OAuthApp ProjectLabel Reaction User'
        .split(' ')
        .map((name) => [name, 'create update remove']),
    ),
  },
  jira: Object.fromEntries(
    (
      'jira:issue_created jira:issue_deleted comment_created comment_updated comment_deleted sprint_created ' +
      'sprint_updated sprint_deleted sprint_started sprint_closed jira:version_created jira:version_updated ' +
      'jira:version_deleted jira:version_moved jira:version_released jira:version_unreleased worklog_created ' +
      'worklog_updated worklog_deleted jira:worklog_updated issuelink_created issuelink_deleted attachment_created ' +
      'attachment_deleted issue_property_set issue_property_deleted project_created project_updated project_deleted ' +
      'user_created user_updated user_deleted board_created board_updated board_deleted board_configuration_changed ' +
      'option_voting_changed'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  trello: Object.fromEntries(
    (
      'createCard copyCard emailCard convertToCardFromCheckItem deleteCard moveCardToBoard moveCardFromBoard ' +
      'commentCard updateComment deleteComment addMemberToCard removeMemberFromCard addAttachmentToCard ' +
      'deleteAttachmentFromCard addLabelToCard removeLabelFromCard createLabel updateLabel deleteLabel ' +
      'addChecklistToCard updateChecklist removeChecklistFromCard createCheckItem updateCheckItem deleteCheckItem ' +
      'createList updateList moveListToBoard updateBoard addMemberToBoard removeMemberFromBoard ' +
      'updateCustomFieldItem voteOnCard'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  pagerduty: Object.fromEntries(
    (
      'pagey.ping incident.triggered incident.acknowledged incident.unacknowledged incident.resolved ' +
      'incident.reopened incident.escalated incident.reassigned incident.delegated incident.annotated ' +
      'incident.priority_updated incident.status_update_published incident.custom_field_values.updated ' +
      'incident.incident_type.changed incident.service_updated incident.responder.added incident.responder.replied ' +
      'incident.role.assigned incident.conference_bridge.updated incident.workflow.started ' +
      'incident.workflow.completed incident.action_invocation.created service.created service.updated service.deleted'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  opsgenie: Object.fromEntries(
    (
      'Create Acknowledge UnAcknowledge Close Delete Escalate EscalateNext AddNote AssignOwnership TakeOwnership ' +
      'AddTeam AddRecipient AddResponder AddTags RemoveTags AddDetails RemoveDetails UpdateDescription UpdateMessage ' +
      'UpdatePriority Snooze SnoozeEnded CustomAction'
    )
      .split(' ')
      .map((name) => [name, '']),
  ),
  circleci: { 'workflow-completed': '', 'job-completed': '', ping: '' },
  netlify: {
    deploy_building: '',
    deploy_created: '',
    deploy_failed: '',
    deploy_locked: '',
    deploy_unlocked: '',
    deploy_deleted: '',
    deploy_restored: '',
    deploy_request_pending: '',
    submission_created: '',
  },
}

// ── A payload of each event that is worth a message ─────────────────────────────────────────────

const ada = { login: 'ada', username: 'ada', name: 'Ada', type: 'User' }
const subject = { number: 7, id: 7, title: 'Broken', user: ada }
const git = (action: string) => ({
  action: action || undefined,
  sender: ada,
  repository: { full_name: 'octo/repo' },
  issue: subject,
  pull_request: subject,
  discussion: subject,
  comment: { body: 'Why?', user: ada },
  review: { state: 'approved', body: 'Good', user: ada },
  release: { tag_name: 'v1' },
  ref: 'refs/heads/main',
  ref_type: 'branch',
  commits: [{ id: 'c', message: 'Fix' }],
  check_run: { conclusion: 'failure', name: 'lint' },
  workflow_run: { conclusion: 'failure', name: 'CI' },
  state: 'failure',
  deployment_status: { state: 'failure' },
  build: { error: { message: 'Broken' } },
})

interface Probe {
  payload: object
  headers?: Record<string, string>
}

const probes: Readonly<Record<string, (event: string, action: string) => Probe>> = {
  github: (event, action) => ({ payload: git(action), headers: { 'x-github-event': event } }),
  gitea: (event, action) => ({ payload: git(action), headers: { 'x-gitea-event': event } }),
  gitlab: (event, action) => ({
    payload: { object_kind: event, action, user: ada, object_attributes: { ...subject, iid: 7, action, note: 'Why?' } },
  }),
  bitbucket: (event) => ({
    headers: { 'x-event-key': event },
    payload: {
      actor: { display_name: 'Ada' },
      pullrequest: subject,
      comment: { content: { raw: 'Why?' } },
      push: { changes: [{ new: { type: 'branch', name: 'main' } }] },
    },
  }),
  stripe: (type) => ({ payload: { id: 'evt_1', type, data: { object: { object: 'thing' } } } }),
  shopify: (topic) => ({ payload: { id: 7 }, headers: { 'x-shopify-topic': topic } }),
  slack: (type) => ({ payload: { type: 'event_callback', event: { type, user: 'U1', text: 'Hi', ts: '1.2' } } }),
  sentry: (resource, action) => ({
    headers: { 'sentry-hook-resource': resource },
    payload: {
      action,
      data:
        resource === 'comment'
          ? { comment: 'Why?', issue_id: 7 }
          : resource === 'metric_alert'
            ? { metric_alert: { id: 7 } }
            : { [resource === 'issue' ? 'issue' : 'event']: { id: 7, title: 'Broken' } },
    },
  }),
  linear: (type, action) => ({
    payload: {
      type,
      action,
      data: { id: 'i1', title: 'Broken', body: 'Why?' },
      notification: { id: 'n' },
      agentSession: { id: 's' },
      issueData: { id: 'i1' },
    },
  }),
  jira: (webhookEvent) => ({
    payload: {
      webhookEvent,
      issue: { id: 7, key: 'ENG-7' },
      comment: { id: 1, body: 'Why?' },
      sprint: { id: 1 },
      version: { id: 1 },
    },
  }),
  trello: (type) => ({
    payload: { action: { id: 'a', type, data: { card: { id: 'c' }, text: 'Why?' } }, model: { id: 'b' } },
  }),
  pagerduty: (type) => ({
    payload: { event: { id: 'e', event_type: type, data: { id: 'P1', title: 'Down', type: 'incident' } } },
  }),
  opsgenie: (action) => ({ payload: { action, alert: { alertId: 'a', message: 'Down', note: 'Why?' } } }),
  circleci: (type) => ({
    payload: { type, id: 'w', workflow: { id: 'w', status: 'failed' }, job: { id: 'j', status: 'failed' } },
  }),
  netlify: (event) => ({
    headers: { 'x-netlify-event': event },
    payload: { id: 'd', context: 'production', state: 'ready', site_id: 's' },
  }),
}

function isSkipped(preset: string, event: string, action: string): boolean {
  const { payload, headers } = probes[preset]!(event, action)
  const judged = presets.get(preset)!.judge(payload, headers)
  if (judged !== 'skipped' && !Array.isArray(judged)) throw new Error(`${event} ${action}: ${judged.refused}`)
  return judged === 'skipped'
}

/** `issues` if all of its actions are skipped, else `issues` (`edited`, `labeled`). */
function skipText(preset: string, event: string, names: string): string[] {
  const actions = [...new Set(names.split(' '))].toSorted()
  const skipped = actions.filter((action) => isSkipped(preset, event, action))
  if (skipped.length === 0) return []
  if (skipped.length === actions.length) return [`\`${event}\``]
  return [`\`${event}\` (${skipped.map((action) => `\`${action}\``).join(', ')})`]
}

describe('the skipped events in docs/presets.md', () => {
  it.each(Object.entries(events))('are those that the preset %s skips', (preset, known) => {
    const skipped = Object.entries(known)
      .toSorted(([one], [other]) => (one < other ? -1 : 1))
      .flatMap(([event, actions]) => skipText(preset, event, actions))
    expect(page.split('\n')).toContain(`| \`${preset}\` | ${skipped.join(', ')} |`)
  })

  it('name each preset, or say that it skips nothing by name', () => {
    const table = page.slice(page.indexOf('## Skipped events'))
    const others = [...presets.keys()].filter((name) => !Object.hasOwn(events, name))
    expect(
      others.filter((name) => !table.slice(0, table.indexOf('\n## ')).includes(`[\`${name}\`](#${name})`)),
    ).toEqual([])
  })
})
