// Payloads of Bitbucket Cloud and Data Center, after their documentation of event payloads.
import { createHmac } from 'node:crypto'
import { one, type Samples, type Signed } from '../sample.ts'

const page = 'https://bitbucket.org/octo/shop'
const ada = { type: 'user', display_name: 'Ada Lovelace', nickname: 'ada', uuid: '{a1}' }
const app = { type: 'app_user', display_name: 'A bot', uuid: '{b1}' }
const repository = {
  type: 'repository',
  full_name: 'octo/shop',
  name: 'shop',
  uuid: '{r1}',
  links: { html: { href: page } },
}
const pullrequest = {
  id: 7,
  title: 'Keep the basket',
  description: 'Stores it on the server.',
  state: 'OPEN',
  reason: '',
  source: { branch: { name: 'basket' }, commit: { hash: '1dc6aa69429bff48' } },
  destination: { branch: { name: 'main' } },
  links: { html: { href: `${page}/pull-requests/7` } },
}
const issue = {
  id: 3,
  title: 'The basket is empty',
  content: { raw: 'After a reload.', html: '<p>After a reload.</p>' },
  state: 'new',
  kind: 'bug',
  priority: 'major',
  links: { html: { href: `${page}/issues/3` } },
}
const comment = {
  id: 1,
  content: { raw: 'Why not in the browser?' },
  user: ada,
  links: { html: { href: `${page}/pull-requests/7#comment-1` } },
}
const commit = (hash: string, message: string, author: object = { raw: 'Ada <ada@example.com>', user: ada }) => ({
  hash,
  message,
  author,
})
const main = { type: 'branch', name: 'main', target: { hash: '1dc6aa69429bff48' } }
const change = (more: object = {}) => ({
  new: main,
  old: main,
  created: false,
  closed: false,
  forced: false,
  truncated: false,
  commits: [
    commit('1dc6aa69429bff48', 'Keep the basket\n\nOn the server.'),
    commit('2', 'Fix', { raw: 'Grace <g@x>' }),
  ],
  links: { html: { href: `${page}/branches/compare/1dc6aa6..9fec847` } },
  ...more,
})
const pushed = (...changes: object[]) => ({ push: { changes } })
const status = (state: string, more: object = {}) => ({
  commit_status: {
    name: 'Unit tests',
    key: 'tests',
    state,
    description: '3 tests failed',
    url: 'https://ci.example.com/1',
    refname: 'main',
    commit: { hash: '9fec847784abb10b2fa5' },
    ...more,
  },
})
const event = (key: string, what: string, more: object = {}) =>
  one(what, { actor: ada, repository, ...more }, { 'x-event-key': key, 'x-request-uuid': `${key} ${what}` })

// ── Data Center ─────────────────────────────────────────────────────────────────────────────────

const server = 'https://git.example.com'
const grace = { name: 'grace', displayName: 'Grace Hopper', id: 2, slug: 'grace', active: true, type: 'NORMAL' }
const linus = { name: 'linus', displayName: 'Linus', id: 3, slug: 'linus', active: true, type: 'NORMAL' }
const robot = { name: 'robot', displayName: 'Robot', id: 4, slug: 'robot', active: true, type: 'SERVICE' }
const project = { key: 'OCTO', id: 5, name: 'Octo', public: false, type: 'NORMAL' }
const store = {
  slug: 'store',
  id: 84,
  name: 'Store',
  scmId: 'git',
  project,
  links: { clone: [], self: [{ href: `${server}/projects/OCTO/repos/store/browse` }] },
}
const pullRequest = {
  id: 11,
  version: 1,
  title: 'Keep the basket',
  description: 'Stores it on the server.',
  state: 'OPEN',
  open: true,
  fromRef: { id: 'refs/heads/basket', displayId: 'basket', latestCommit: '1dc6aa69429bff48', repository: store },
  toRef: { id: 'refs/heads/main', displayId: 'main', latestCommit: '9fec847784abb10b2fa5', repository: store },
  author: { user: grace, role: 'AUTHOR', approved: false, status: 'UNAPPROVED' },
  reviewers: [],
  links: { self: [{ href: `${server}/projects/OCTO/repos/store/pull-requests/11` }] },
}
const remark = { id: 62, version: 0, text: 'Why not in the browser?', author: grace, comments: [], tasks: [] }
const refChange = (displayId: string, type: string, more: object = {}) => ({
  ref: { id: `refs/heads/${displayId}`, displayId, type: 'BRANCH' },
  refId: `refs/heads/${displayId}`,
  fromHash: type === 'ADD' ? '0'.repeat(40) : '9fec847784abb10b2fa5',
  toHash: type === 'DELETE' ? '0'.repeat(40) : '1dc6aa69429bff48',
  type,
  ...more,
})
const serverCommits = [
  { id: '1dc6aa69429bff48', message: 'Keep the basket\n\nOn the server.', author: grace },
  { id: '2ab', message: 'Fix', author: { name: 'linus' } },
]
const serverEvent = (eventKey: string, what: string, more: object = {}) =>
  one(
    `Data Center: ${what}`,
    { eventKey, date: '2030-01-31T09:00:00+0000', actor: grace, ...more },
    { 'x-event-key': eventKey, 'x-request-id': `${eventKey} ${what}` },
  )

const secret = 'a secret of the webhook'
const body = JSON.stringify({ text: 'Grüße 🌍' })
const signed: Signed = {
  auth: { secret },
  headers: { 'x-hub-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}` },
  body,
}

export const bitbucket: Samples = {
  signed,
  told: [
    event('repo:push', 'a push', pushed(change())),
    event('repo:push', 'a forced push that is cut', pushed(change({ forced: true, truncated: true }))),
    event('repo:push', 'a forced push that only removes commits', pushed(change({ forced: true, commits: [] }))),
    event('repo:push', 'a new branch', pushed(change({ old: null, created: true, commits: [] }))),
    event('repo:push', 'a new branch with commits', pushed(change({ old: null, created: true }))),
    event('repo:push', 'a deleted branch', pushed(change({ new: null, closed: true, commits: undefined }))),
    event('repo:push', 'a new tag', pushed(change({ old: null, new: { type: 'tag', name: 'v1' } }))),
    event('repo:push', 'several branches', pushed(change(), change({ old: null, new: { type: 'tag', name: 'v1' } }))),
    event(
      'repo:push',
      'many branches',
      pushed(...Array.from({ length: 12 }, (_, index) => change({ new: { type: 'branch', name: `b${index}` } }))),
    ),
    event('repo:fork', 'a fork', {
      fork: { full_name: 'ada/shop', links: { html: { href: 'https://bitbucket.org/ada/shop' } } },
    }),
    event('repo:commit_status_created', 'a failed build', status('FAILED')),
    event(
      'repo:commit_status_updated',
      'a stopped build',
      status('STOPPED', { name: undefined, refname: null, commit: null }),
    ),
    event('repo:commit_comment_created', 'a comment on a commit', {
      comment,
      commit: { hash: '9fec847784abb10b2fa5' },
    }),
    event('issue:created', 'an issue', { issue }),
    event('issue:updated', 'a changed issue', {
      issue,
      changes: {
        status: { old: 'new', new: 'open' },
        assignee: { old: null, new: ada },
        content: { old: 'a', new: 'b' },
      },
    }),
    event('issue:comment_created', 'a comment on an issue', { issue, comment }),
    event('pullrequest:created', 'a pull request', { pullrequest }),
    event('pullrequest:created', 'a draft with little', { pullrequest: { id: 8, draft: true }, actor: null }),
    event('pullrequest:fulfilled', 'a merge', { pullrequest }),
    event('pullrequest:rejected', 'a declined one', { pullrequest: { ...pullrequest, reason: 'Too early.' } }),
    event('pullrequest:approved', 'an approval', { pullrequest, approval: { user: ada } }),
    event('pullrequest:unapproved', 'an approval that is taken back', { pullrequest }),
    event('pullrequest:changes_request_created', 'a request for changes', { pullrequest }),
    event('pullrequest:changes_request_removed', 'a request that is taken back', { pullrequest }),
    event('pullrequest:comment_created', 'a comment', { pullrequest, comment }),
    event('pullrequest:comment_created', 'a comment on a line', {
      pullrequest,
      comment: { ...comment, inline: { path: 'src/a.ts' } },
    }),
    event('repo:transfer', 'another event'),
    event('pullrequest:renamed', 'another event of a pull request', { pullrequest }),
    event('issue:moved', 'another event of an issue', { issue }),
    event('issue:created', 'fields of another type', {
      actor: 'ada',
      issue: { ...issue, id: '3', title: ['The', 'basket'], content: 'none' },
      changes: 'x',
    }),
    serverEvent('repo:refs_changed', 'a push', {
      repository: store,
      changes: [refChange('main', 'UPDATE')],
      commits: serverCommits,
    }),
    serverEvent('repo:refs_changed', 'a push without commits', {
      repository: store,
      changes: [refChange('main', 'UPDATE')],
    }),
    serverEvent('repo:refs_changed', 'a new branch', { repository: store, changes: [refChange('basket', 'ADD')] }),
    serverEvent('repo:refs_changed', 'several branches and tags', {
      repository: store,
      changes: [
        refChange('main', 'UPDATE'),
        refChange('basket', 'DELETE'),
        refChange('v1', 'UPDATE', { ref: { displayId: 'v1', type: 'TAG' } }),
        refChange('v2', 'ADD', { ref: null, refId: 'refs/tags/v2' }),
      ],
      commits: serverCommits,
    }),
    serverEvent('repo:forked', 'a fork', {
      repository: { ...store, project: { key: '~GRACE', type: 'PERSONAL', owner: grace }, origin: store },
    }),
    serverEvent('repo:refs_changed', 'a push to a fork', {
      repository: { ...store, project: { key: '~GRACE', type: 'PERSONAL', owner: grace }, origin: store },
      changes: [refChange('main', 'UPDATE')],
    }),
    serverEvent('repo:modified', 'a new name', { old: { ...store, slug: 'shop', name: 'Shop' }, new: store }),
    serverEvent('repo:modified', 'another setting', { old: store, new: store }),
    serverEvent('project:modified', 'a project with a new name', { old: { ...project, name: 'Cat' }, new: project }),
    serverEvent('repo:comment:added', 'a comment on a commit', {
      repository: store,
      comment: remark,
      commit: '9fec847784abb10b2fa5',
    }),
    serverEvent('repo:comment:edited', 'an edited comment on a commit', {
      repository: store,
      comment: remark,
      commit: '9fec847784abb10b2fa5',
      previousComment: 'Why?',
    }),
    serverEvent('repo:comment:deleted', 'a deleted comment on a commit', {
      repository: store,
      comment: remark,
      commit: '9fec847784abb10b2fa5',
    }),
    serverEvent('repo:secret_detected', 'a secret', {
      secretLocations: [
        { commitId: '1dc6aa69429bff48', line: 3, path: 'src/config.ts', ruleName: 'AWS key', repository: store },
      ],
    }),
    serverEvent('mirror:repo_synchronized', 'a mirror', {
      actor: undefined,
      mirrorServer: { id: 'B1', name: 'Tokyo' },
      syncType: 'incremental',
      refLimitExceeded: false,
      repository: store,
      changes: [refChange('main', 'UPDATE')],
    }),
    serverEvent('pr:opened', 'a pull request', { pullRequest }),
    serverEvent('pr:opened', 'a draft without links', {
      pullRequest: { ...pullRequest, draft: true, links: { self: [null] } },
    }),
    serverEvent('pr:from_ref_updated', 'new commits', { pullRequest, previousFromHash: '9fec847784abb10b2fa5' }),
    serverEvent('pr:modified', 'another title and target', {
      pullRequest,
      previousTitle: 'Basket',
      previousDescription: 'Stores it on the server.',
      previousTarget: { displayId: 'next', latestCommit: '2ab' },
    }),
    serverEvent('pr:modified', 'another text', {
      pullRequest,
      previousTitle: 'Keep the basket',
      previousDescription: null,
      previousTarget: { displayId: 'main' },
    }),
    serverEvent('pr:reviewer:updated', 'other reviewers', {
      pullRequest,
      addedReviewers: [linus, robot],
      removedReviewers: [grace],
    }),
    ...(['approved', 'unapproved', 'needs_work', 'changes_requested'] as const).map((outcome) =>
      serverEvent(`pr:reviewer:${outcome}`, `a review: ${outcome}`, {
        pullRequest,
        participant: { user: grace },
        previousStatus: 'APPROVED',
      }),
    ),
    serverEvent('pr:reviewer:unapproved', 'a request for changes that is taken back', {
      pullRequest,
      previousStatus: 'NEEDS_WORK',
    }),
    serverEvent('pr:merged', 'a merge', { pullRequest }),
    serverEvent('pr:declined', 'a declined one', { pullRequest }),
    serverEvent('pr:deleted', 'a deleted one', { pullRequest }),
    serverEvent('pr:comment:added', 'a comment', { pullRequest, comment: remark, commentParentId: 43 }),
    serverEvent('pr:comment:edited', 'an edited comment', { pullRequest, comment: remark, previousComment: 'Why?' }),
    serverEvent('pr:comment:edited', 'a resolved thread', {
      pullRequest,
      comment: { ...remark, threadResolved: true },
      previousComment: remark.text,
    }),
    serverEvent('pr:comment:deleted', 'a deleted comment', { pullRequest, comment: remark }),
    serverEvent('pr:archived', 'another event', { pullRequest }),
  ],
  silent: [
    event('pullrequest:updated', 'an edit', { pullrequest }),
    event('pullrequest:comment_updated', 'an edited comment', { pullrequest, comment }),
    event('pullrequest:comment_created', 'a comment of an app', { pullrequest, comment: { ...comment, user: app } }),
    serverEvent('diagnostics:ping', 'a test', { test: true }),
    serverEvent('repo:refs_changed', 'a push without changes', { repository: store, changes: [] }),
    serverEvent('pr:comment:added', 'a comment with an access token', {
      actor: robot,
      pullRequest,
      comment: { ...remark, author: robot },
    }),
    event('repo:updated', 'a new description'),
    event('repo:commit_status_updated', 'a build that runs', status('INPROGRESS')),
    event('repo:commit_status_updated', 'a build that succeeded', status('SUCCESSFUL')),
    event('repo:push', 'a push without changes', pushed()),
    event('issue:updated', 'a change of the text', { issue, changes: { content: { old: 'a', new: 'b' } } }),
  ],
  wrong: [
    one('no event', { actor: ada }),
    one('a list', [], { 'x-event-key': 'repo:push' }),
    one('a text', 'push', { 'x-event-key': 'repo:push' }),
  ],
}
