// The fields that are read of GitLab's payloads; all other fields are ignored.
import { type Static, type TSchema, Type } from 'svc-gateway/plugin'

/** GitLab sends `null` for missing values, or leaves them out. */
const Maybe = <Schema extends TSchema>(schema: Schema) => Type.Optional(Type.Union([schema, Type.Null()]))
const Text = Maybe(Type.String())
const Numeral = Maybe(Type.Number())

const Person = Maybe(Type.Object({ name: Text, username: Text }))
const Subject = Maybe(Type.Object({ iid: Numeral, title: Text, url: Text }))

export const Payload = Type.Object({
  object_kind: Text,
  event_name: Text,
  user: Maybe(Type.Union([Type.String(), Type.Object({ name: Text, username: Text })])),
  user_name: Text,
  user_username: Text,
  project: Maybe(Type.Object({ path_with_namespace: Text, web_url: Text })),
  project_name: Text,
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
      title: Text,
      description: Text,
      content: Text,
      url: Text,
      action: Text,
      // A string in pipelines; in other events it may be an object.
      status: Type.Optional(Type.Unknown()),
      note: Text,
      noteable_type: Text,
      system: Maybe(Type.Boolean()),
      ref: Text,
      source_branch: Text,
      target_branch: Text,
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
  environment: Type.Optional(Type.Unknown()),
  deployable_url: Text,
  name: Text,
  tag: Maybe(Type.Union([Type.String(), Type.Boolean()])),
  description: Text,
  url: Text,
  action: Text,
})
export type Payload = Static<typeof Payload>
