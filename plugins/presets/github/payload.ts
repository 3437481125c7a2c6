// The fields that are read of GitHub's payloads; all other fields are ignored.
import { type Static, type TSchema, Type } from 'svc-gateway/plugin'

/** GitHub sends `null` for missing values, or leaves them out. */
const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
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

const Remark = Maybe(
  Type.Object({ body: Text, html_url: Text, path: Text, commit_id: Text, state: Text, user: Person }),
)

const Commit = Type.Object({ id: Text, message: Text, author: Maybe(Type.Object({ name: Text, username: Text })) })

/** A workflow run or a check run. */
const Check = Maybe(
  Type.Object({
    name: Text,
    conclusion: Text,
    html_url: Text,
    head_branch: Text,
    head_sha: Text,
    run_number: Numeral,
    pull_requests: PullNumbers,
    app: Maybe(Type.Object({ slug: Text })),
    output: Maybe(Type.Object({ title: Text, summary: Text })),
  }),
)

/** The subject of rarer events. */
const Named = Maybe(Type.Object({ name: Text, title: Text, login: Text, html_url: Text }))

const Advisory = Maybe(Type.Object({ summary: Text, severity: Text, ghsa_id: Text, html_url: Text }))
const Alert = Maybe(
  Type.Object({
    number: Numeral,
    html_url: Text,
    secret_type_display_name: Text,
    affected_package_name: Text,
    security_advisory: Advisory,
    rule: Maybe(Type.Object({ description: Text, severity: Text })),
    dependency: Maybe(Type.Object({ package: Maybe(Type.Object({ name: Text })) })),
  }),
)

export const Payload = Type.Object({
  action: Text,
  sender: Person,
  repository: Maybe(Type.Object({ full_name: Text, html_url: Text })),
  organization: Person,
  issue: Subject,
  pull_request: Subject,
  discussion: Subject,
  comment: Remark,
  review: Remark,
  answer: Remark,
  assignee: Person,
  requested_reviewer: Person,
  ref: Text,
  ref_type: Text,
  deleted: Flag,
  forced: Flag,
  compare: Text,
  commits: Maybe(Type.Array(Commit)),
  release: Maybe(Type.Object({ tag_name: Text, name: Text, body: Text, html_url: Text })),
  workflow_run: Check,
  check_run: Check,
  state: Text,
  sha: Text,
  context: Text,
  description: Text,
  target_url: Text,
  deployment: Maybe(Type.Object({ environment: Text, ref: Text })),
  deployment_status: Maybe(Type.Object({ state: Text, description: Text, target_url: Text, log_url: Text })),
  build: Maybe(Type.Object({ status: Text, error: Maybe(Type.Object({ message: Text })) })),
  alert: Alert,
  security_advisory: Advisory,
  member: Named,
  milestone: Named,
  package: Named,
  key: Named,
  rule: Named,
  blocked_user: Named,
  team: Named,
  forkee: Maybe(Type.Object({ full_name: Text, html_url: Text })),
  pages: Maybe(Type.Array(Type.Object({ title: Text, action: Text, html_url: Text }))),
})
export type Payload = Static<typeof Payload>
export type Subject = NonNullable<Payload['issue']>
export type Remark = NonNullable<Payload['comment']>
export type Check = NonNullable<Payload['check_run']>
