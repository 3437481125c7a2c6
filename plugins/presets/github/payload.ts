// The fields that are read of GitHub's payloads; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Numeral = Maybe(Type.Number())
const Flag = Maybe(Type.Boolean())

const Person = Maybe(Type.Object({ login: Text, type: Text }))
const Branch = Maybe(Type.Object({ ref: Text }))
const PullNumbers = Maybe(Type.Array(Type.Object({ number: Numeral })))

/** An issue, pull request or discussion. */
const Subject = Maybe(
  Type.Object({
    number: Numeral,
    title: Text,
    body: Text,
    html_url: Text,
    merged: Flag,
    draft: Flag,
    additions: Numeral,
    deletions: Numeral,
    head: Branch,
    base: Branch,
    /** Present if the issue is a pull request. */
    pull_request: Maybe(Type.Object({})),
  }),
)

const Remark = Type.Object({ body: Text, html_url: Text, path: Text, commit_id: Text, state: Text, user: Person })

const Commit = Type.Object({ id: Text, message: Text, author: Maybe(Type.Object({ name: Text, username: Text })) })

/** A workflow run or a check run. */
const Check = Maybe(
  Type.Object({
    name: Text,
    /** The file of the workflow. */
    path: Text,
    conclusion: Text,
    html_url: Text,
    head_branch: Text,
    head_sha: Text,
    pull_requests: PullNumbers,
    app: Maybe(Type.Object({ slug: Text })),
    output: Maybe(Type.Object({ title: Text, summary: Text })),
  }),
)

/** The subject of rarer events. Each has one of these names. */
const Named = Maybe(
  Type.Object({ name: Text, title: Text, login: Text, full_name: Text, property_name: Text, html_url: Text }),
)

const Advisory = Maybe(Type.Object({ summary: Text, severity: Text, ghsa_id: Text, html_url: Text }))
/** Where code scanning found something. */
const Instance = Type.Object({
  ref: Text,
  commit_sha: Text,
  message: Maybe(Type.Object({ text: Text })),
  location: Maybe(Type.Object({ path: Text, start_line: Numeral })),
})
const Alert = Maybe(
  Type.Object({
    number: Numeral,
    html_url: Text,
    secret_type: Text,
    secret_type_display_name: Text,
    resolution: Text,
    resolution_comment: Text,
    validity: Text,
    push_protection_bypassed: Flag,
    affected_package_name: Text,
    affected_range: Text,
    fixed_in: Text,
    security_advisory: Advisory,
    security_vulnerability: Maybe(
      Type.Object({ vulnerable_version_range: Text, first_patched_version: Maybe(Type.Object({ identifier: Text })) }),
    ),
    dismissed_by: Person,
    // Of the oldest alerts:
    dismisser: Person,
    dismiss_reason: Text,
    resolved_by: Person,
    dismissed_reason: Text,
    dismissed_comment: Text,
    rule: Maybe(Type.Object({ id: Text, description: Text, severity: Text, security_severity_level: Text })),
    tool: Maybe(Type.Object({ name: Text })),
    most_recent_instance: Maybe(Instance),
    instances: Maybe(Type.Array(Instance)),
    dependency: Maybe(Type.Object({ package: Maybe(Type.Object({ name: Text })), manifest_path: Text, scope: Text })),
  }),
)

/** Old versions have no `full_name`. */
const Repository = Maybe(
  Type.Object({
    full_name: Text,
    name: Text,
    owner: Maybe(Type.Object({ login: Text, name: Text })),
    html_url: Text,
    security_and_analysis: Maybe(Type.Unknown()),
  }),
)
const Before = Maybe(Type.Object({ from: Maybe(Type.Unknown()) }))
const Repositories = Maybe(Type.Array(Type.Object({ full_name: Text })))

const Properties = Maybe(Type.Array(Type.Object({ property_name: Text, value: Type.Optional(Type.Unknown()) })))

export const Payload = Type.Object({
  action: Text,
  sender: Person,
  repository: Repository,
  organization: Person,
  issue: Subject,
  pull_request: Subject,
  discussion: Subject,
  // A text in reviews of deployments.
  comment: Maybe(Type.Union([Type.String(), Remark])),
  review: Maybe(Remark),
  answer: Maybe(Remark),
  assignee: Person,
  requested_reviewer: Person,
  requested_team: Named,
  ref: Text,
  ref_type: Text,
  before: Text,
  after: Text,
  created: Flag,
  deleted: Flag,
  forced: Flag,
  compare: Text,
  commits: Maybe(Type.Array(Commit)),
  pusher: Maybe(Type.Object({ name: Text })),
  release: Maybe(Type.Object({ tag_name: Text, name: Text, body: Text, html_url: Text })),
  // A file name in requests to start one.
  workflow: Maybe(Type.Union([Type.String(), Type.Object({ name: Text, path: Text })])),
  workflow_run: Check,
  check_run: Check,
  state: Text,
  sha: Text,
  context: Text,
  description: Text,
  target_url: Text,
  deployment: Maybe(Type.Object({ environment: Text, ref: Text })),
  deployment_status: Maybe(
    Type.Object({ state: Text, description: Text, target_url: Text, log_url: Text, environment: Text }),
  ),
  environment: Text,
  reviewers: Maybe(Type.Array(Type.Object({ reviewer: Named }))),
  requestor: Person,
  approver: Person,
  workflow_job_run: Maybe(Type.Object({ environment: Text, html_url: Text })),
  build: Maybe(Type.Object({ status: Text, error: Maybe(Type.Object({ message: Text })) })),
  alert: Alert,
  commit_oid: Text,
  location: Maybe(Type.Object({ type: Text, details: Maybe(Type.Object({ path: Text, start_line: Numeral })) })),
  security_advisory: Advisory,
  repository_advisory: Advisory,
  member: Named,
  membership: Maybe(Type.Object({ user: Person, role: Text })),
  invitation: Maybe(Type.Object({ login: Text, email: Text })),
  milestone: Named,
  package: Named,
  registry_package: Named,
  key: Named,
  rule: Named,
  repository_ruleset: Named,
  definition: Named,
  blocked_user: Named,
  team: Named,
  installation: Maybe(Type.Object({ account: Named, app_slug: Text })),
  account: Named,
  user: Named,
  repositories: Repositories,
  repositories_added: Repositories,
  repositories_removed: Repositories,
  marketplace_purchase: Maybe(Type.Object({ account: Named, plan: Named })),
  previous_marketplace_purchase: Maybe(Type.Object({ plan: Named })),
  effective_date: Text,
  sponsorship: Maybe(Type.Object({ sponsor: Person, sponsorable: Person, tier: Named })),
  personal_access_token_request: Maybe(
    Type.Object({
      owner: Person,
      token_name: Text,
      token_expires_at: Text,
      permissions_result: Maybe(Type.Unknown()),
      repositories: Repositories,
    }),
  ),
  new_property_values: Properties,
  old_property_values: Properties,
  sub_issue: Subject,
  parent_issue: Subject,
  blocked_issue: Subject,
  blocking_issue: Subject,
  changes: Maybe(
    Type.Object({
      login: Before,
      from: Maybe(Type.Object({ security_and_analysis: Maybe(Type.Unknown()) })),
      owner: Before,
      repository: Maybe(Type.Object({ name: Before })),
      // Of an issue that was transferred:
      new_issue: Subject,
      new_repository: Named,
      old_issue: Subject,
      old_repository: Named,
    }),
  ),
  status: Type.Optional(Type.Unknown()),
  forkee: Maybe(Type.Object({ full_name: Text, html_url: Text })),
  pages: Maybe(Type.Array(Type.Object({ title: Text, action: Text, html_url: Text }))),
})
export type Payload = Static<typeof Payload>
export type Subject = NonNullable<Payload['issue']>
export type Remark = Static<typeof Remark>
export type Check = NonNullable<Payload['check_run']>
