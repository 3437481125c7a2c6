// The fields that are read of Bitbucket's payloads; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Flag = Maybe(Type.Boolean())
const Link = Maybe(Type.Object({ href: Text }))
const Links = Maybe(Type.Object({ html: Link, diff: Link }))
const Rendered = Maybe(Type.Object({ raw: Text }))

/** A person, an app or a team. */
const Actor = Maybe(Type.Object({ display_name: Text, nickname: Text, type: Text }))

const Commit = Type.Object({
  hash: Text,
  message: Text,
  author: Maybe(Type.Object({ raw: Text, user: Actor })),
})

const Branch = Maybe(Type.Object({ branch: Maybe(Type.Object({ name: Text })) }))

const PullRequest = Maybe(
  Type.Object({
    id: Maybe(Type.Number()),
    title: Text,
    description: Text,
    reason: Text,
    draft: Flag,
    source: Branch,
    destination: Branch,
    links: Links,
  }),
)

const Issue = Maybe(
  Type.Object({
    id: Maybe(Type.Number()),
    title: Text,
    content: Rendered,
    state: Text,
    kind: Text,
    priority: Text,
    assignee: Actor,
    links: Links,
  }),
)

/** A branch or a tag, before or after a push. */
const Reference = Maybe(Type.Object({ type: Text, name: Text }))

const Change = Type.Object({
  new: Reference,
  old: Reference,
  forced: Flag,
  truncated: Flag,
  commits: Maybe(Type.Array(Commit)),
  links: Links,
})

export const Payload = Type.Object({
  actor: Actor,
  repository: Maybe(Type.Object({ full_name: Text, links: Links })),
  push: Maybe(Type.Object({ changes: Maybe(Type.Array(Change)) })),
  pullrequest: PullRequest,
  issue: Issue,
  comment: Maybe(
    Type.Object({
      content: Rendered,
      inline: Maybe(Type.Object({ path: Text })),
      links: Links,
      user: Actor,
    }),
  ),
  commit: Maybe(Type.Object({ hash: Text })),
  /** The fields of an issue that were changed. */
  changes: Maybe(Type.Record(Type.String(), Type.Unknown())),
  commit_status: Maybe(
    Type.Object({
      name: Text,
      key: Text,
      state: Text,
      description: Text,
      url: Text,
      refname: Text,
      commit: Maybe(Type.Object({ hash: Text })),
    }),
  ),
  fork: Maybe(Type.Object({ full_name: Text, links: Links })),
})
export type Payload = Static<typeof Payload>
export type Change = Static<typeof Change>
