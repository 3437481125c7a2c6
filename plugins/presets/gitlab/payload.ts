// The fields that are read of GitLab's payloads; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Numeral = Maybe(Type.Number())
/** A field that has another type in some events. */
const Mixed = Type.Optional(Type.Unknown())

const Person = Maybe(Type.Object({ name: Text, username: Text }))
const Subject = Maybe(Type.Object({ id: Numeral, iid: Numeral, title: Text, url: Text }))
const Project = Maybe(Type.Object({ path_with_namespace: Text, web_url: Text }))
const Group = Maybe(Type.Object({ group_path: Text, full_path: Text, web_url: Text }))

export const Payload = Type.Object({
  object_kind: Text,
  event_name: Text,
  user: Maybe(Type.Union([Type.String(), Type.Object({ name: Text, username: Text })])),
  project: Project,
  project_name: Text,
  project_id: Numeral,
  repository: Maybe(Type.Object({ homepage: Text })),
  group: Group,
  ref: Text,
  before: Text,
  after: Text,
  total_commits_count: Numeral,
  commits: Maybe(Type.Array(Type.Object({ id: Text, message: Text, author: Person }))),
  assignees: Maybe(Type.Array(Type.Object({ name: Text, username: Text }))),
  object_attributes: Maybe(
    Type.Object({
      id: Numeral,
      iid: Numeral,
      name: Text,
      title: Text,
      description: Text,
      url: Text,
      action: Text,
      type: Text,
      state: Text,
      // A text in pipelines; in other events it may be an object.
      status: Mixed,
      note: Text,
      noteable_type: Text,
      // Set if a comment was edited. Before GitLab 16, such a comment has no action.
      updated_by_id: Numeral,
      last_edited_at: Text,
      system: Maybe(Type.Boolean()),
      ref: Text,
      source_branch: Text,
      target_branch: Text,
      draft: Maybe(Type.Boolean()),
      active: Maybe(Type.Boolean()),
      due_date: Text,
      expires_at: Text,
      severity: Text,
      report_type: Text,
    }),
  ),
  issue: Subject,
  merge_request: Subject,
  commit: Maybe(
    Type.Object({ id: Maybe(Type.Union([Type.String(), Type.Number()])), message: Text, title: Text, url: Text }),
  ),
  snippet: Maybe(Type.Object({ id: Numeral, title: Text })),
  builds: Maybe(Type.Array(Type.Object({ name: Text, stage: Text, status: Text }))),
  // Jobs, deployments and releases have their fields at the top level.
  build_id: Numeral,
  build_name: Text,
  build_stage: Text,
  build_status: Text,
  build_failure_reason: Text,
  status: Text,
  // A name in deployments, an object in jobs.
  environment: Mixed,
  deployable_url: Text,
  name: Text,
  tag: Maybe(Type.Union([Type.String(), Type.Boolean()])),
  description: Text,
  url: Text,
  action: Text,
  // In pushes, the person who pushed. In events of members and of the system, the person or thing that it is about.
  user_name: Text,
  user_username: Text,
  username: Text,
  email: Text,
  state: Text,
  old_username: Text,
  group_name: Text,
  group_path: Text,
  group_access: Text,
  access_level: Text,
  expires_at: Text,
  project_visibility: Text,
  project_path_with_namespace: Text,
  path_with_namespace: Text,
  old_path_with_namespace: Text,
  full_path: Text,
  old_full_path: Text,
  path: Text,
})
export type Payload = Static<typeof Payload>
