// The fields that are read of the payloads of Bitbucket Cloud and Data Center; all other fields are ignored.
import { Maybe } from 'svc-gateway/kit'
import { type Static, Type } from 'svc-gateway/plugin'

const Text = Maybe(Type.String())
const Flag = Maybe(Type.Boolean())
const Link = Maybe(Type.Object({ href: Text }))
/** Data Center lists its links as `self`; in Cloud, `self` is one address of the API. */
const Self = Maybe(Type.Union([Type.Array(Type.Object({ href: Text })), Type.Object({ href: Text })]))
const Links = Maybe(Type.Object({ html: Link, self: Self }))
const Rendered = Maybe(Type.Object({ raw: Text }))

/** A person, an app or a team. Data Center sends `displayName` and `name`. */
const Actor = Maybe(
  Type.Object({ display_name: Text, nickname: Text, username: Text, displayName: Text, name: Text, type: Text }),
)

const People = Maybe(Type.Array(Type.Object({ displayName: Text, name: Text })))

/** A repository. Data Center has no `full_name`, but a project with a key, and a fork has its original repository. */
const RepositoryFields = {
  full_name: Text,
  slug: Text,
  name: Text,
  /** Of a project that was renamed. */
  key: Text,
  project: Maybe(Type.Object({ key: Text })),
  links: Links,
}
const Repository = Maybe(Type.Object({ ...RepositoryFields, origin: Maybe(Type.Object(RepositoryFields)) }))

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

/** A branch of a pull request of Data Center. */
const Ref = Maybe(Type.Object({ displayId: Text, latestCommit: Text, repository: Repository }))

const DataCenterPull = Maybe(
  Type.Object({
    id: Maybe(Type.Number()),
    title: Text,
    description: Text,
    draft: Flag,
    fromRef: Ref,
    toRef: Ref,
    links: Links,
  }),
)

/** A branch or a tag that a push to Data Center changed. */
const RefChange = Type.Object({
  ref: Maybe(Type.Object({ displayId: Text, type: Text })),
  refId: Text,
  fromHash: Text,
  toHash: Text,
  type: Text,
})

/** A branch or a tag, before or after a push. */
const Reference = Maybe(Type.Object({ type: Text, name: Text, target: Maybe(Commit) }))

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
  repository: Repository,
  push: Maybe(Type.Object({ changes: Maybe(Type.Array(Change)) })),
  pullrequest: PullRequest,
  issue: Issue,
  comment: Maybe(
    Type.Object({
      id: Maybe(Type.Number()),
      content: Rendered,
      inline: Maybe(Type.Object({ path: Text })),
      links: Links,
      user: Actor,
      // Of Data Center:
      text: Text,
      author: Actor,
      state: Text,
      threadResolved: Flag,
    }),
  ),
  // In Data Center, the hash.
  commit: Maybe(Type.Union([Type.String(), Type.Object({ hash: Text })])),
  /** The fields of an issue that were changed; in Data Center, the branches and tags. */
  changes: Maybe(Type.Union([Type.Array(RefChange), Type.Record(Type.String(), Type.Unknown())])),
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
  // Of Data Center, which names the event in the payload, too:
  eventKey: Text,
  pullRequest: DataCenterPull,
  commits: Maybe(
    Type.Array(Type.Object({ id: Text, message: Text, author: Maybe(Type.Object({ displayName: Text, name: Text })) })),
  ),
  previousFromHash: Text,
  previousTitle: Text,
  previousDescription: Text,
  previousTarget: Ref,
  previousStatus: Text,
  previousComment: Text,
  addedReviewers: People,
  removedReviewers: People,
  // A repository or a project before and after it was renamed.
  old: Repository,
  new: Repository,
  mirrorServer: Maybe(Type.Object({ name: Text })),
  secretLocations: Maybe(
    Type.Array(
      Type.Object({
        commitId: Text,
        line: Maybe(Type.Number()),
        path: Text,
        ruleName: Text,
        repository: Repository,
      }),
    ),
  ),
})
export type Payload = Static<typeof Payload>
export type Commit = Static<typeof Commit>
export type Change = Static<typeof Change>
export type RefChange = Static<typeof RefChange>
