// Payloads of Bitbucket Cloud, after its documentation of event payloads.
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
  ],
  silent: [
    event('pullrequest:updated', 'an edit', { pullrequest }),
    event('pullrequest:comment_updated', 'an edited comment', { pullrequest, comment }),
    event('pullrequest:comment_created', 'a comment of an app', { pullrequest, comment: { ...comment, user: app } }),
    event('repo:updated', 'a new description'),
    event('repo:commit_status_updated', 'a build that runs', status('INPROGRESS')),
    event('repo:commit_status_updated', 'a build that succeeded', status('SUCCESSFUL')),
    event('repo:push', 'a push without changes', pushed()),
    event('issue:updated', 'a change of the text', { issue, changes: { content: { old: 'a', new: 'b' } } }),
  ],
  wrong: [
    one('no event', { actor: ada }),
    one('an actor that is a text', { actor: 'ada' }, { 'x-event-key': 'repo:push' }),
    one('changes that are none', { push: { changes: 'x' } }, { 'x-event-key': 'repo:push' }),
    one('a pull request that is a number', { pullrequest: 7 }, { 'x-event-key': 'pullrequest:created' }),
    one('an id that is a text', { pullrequest: { id: '7' } }, { 'x-event-key': 'pullrequest:created' }),
    one('a list', [], { 'x-event-key': 'repo:push' }),
  ],
}
