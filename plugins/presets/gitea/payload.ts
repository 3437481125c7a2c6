// The fields that are read of the payloads of Gitea, Forgejo and Gogs; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Numeral = Maybe(Type.Number())
const Flag = Maybe(Type.Boolean())

const Person = Maybe(Type.Object({ login: Text, username: Text, full_name: Text }))
const Branch = Maybe(Type.Object({ ref: Text }))
/** Old versions of Gogs send no `full_name`. */
const Repository = Maybe(
  Type.Object({
    full_name: Text,
    name: Text,
    owner: Maybe(Type.Object({ login: Text, username: Text, name: Text })),
    html_url: Text,
    url: Text,
  }),
)

/** An issue or a pull request. */
const Subject = Maybe(
  Type.Object({
    number: Numeral,
    title: Text,
    body: Text,
    html_url: Text,
    merged: Flag,
    draft: Flag,
    head: Branch,
    base: Branch,
    user: Person,
    assignee: Person,
    /** Present if the issue is a pull request. */
    pull_request: Maybe(Type.Object({})),
  }),
)

/** A run of a workflow: of Gitea (`workflow_run`) or of Forgejo (`run`). */
const Run = Maybe(
  Type.Object({
    name: Text,
    title: Text,
    display_title: Text,
    path: Text,
    workflow_id: Text,
    conclusion: Text,
    html_url: Text,
    head_branch: Text,
    prettyref: Text,
    head_sha: Text,
    commit_sha: Text,
    repository: Repository,
    trigger_user: Person,
  }),
)

const Commit = Type.Object({ id: Text, message: Text, author: Maybe(Type.Object({ name: Text, username: Text })) })

export const Payload = Type.Object({
  action: Text,
  sender: Person,
  pusher: Person,
  repository: Repository,
  organization: Person,
  ref: Text,
  ref_type: Text,
  before: Text,
  after: Text,
  compare_url: Text,
  total_commits: Numeral,
  commits: Maybe(Type.Array(Commit)),
  issue: Subject,
  pull_request: Subject,
  /** Of the issue or pull request. */
  number: Numeral,
  is_pull: Flag,
  comment: Maybe(Type.Object({ body: Text, html_url: Text, user: Person })),
  review: Maybe(Type.Object({ content: Text })),
  requested_reviewer: Person,
  release: Maybe(Type.Object({ tag_name: Text, name: Text, body: Text, html_url: Text })),
  forkee: Repository,
  page: Text,
  package: Maybe(Type.Object({ name: Text, version: Text, type: Text, html_url: Text })),
  // Statuses of commits:
  state: Text,
  sha: Text,
  context: Text,
  description: Text,
  target_url: Text,
  workflow: Maybe(Type.Object({ name: Text })),
  workflow_run: Run,
  run: Run,
})
export type Payload = Static<typeof Payload>
