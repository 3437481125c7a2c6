// Payloads of Gitea, Forgejo and Gogs, after the structures in the source code of Gitea.
import { one, type Sample, type Samples } from '../sample.ts'

const page = 'https://git.example.com/octo/shop'
const ada = { id: 1, login: 'ada', username: 'ada', full_name: 'Ada Lovelace' }
const repository = { id: 1, name: 'shop', full_name: 'octo/shop', html_url: page, private: false }
const issue = {
  id: 11,
  number: 3,
  title: 'The basket is empty',
  body: 'After a reload.',
  html_url: `${page}/issues/3`,
  assignee: { login: 'grace' },
  pull_request: null,
}
const pull = {
  id: 12,
  number: 7,
  title: 'Keep the basket',
  body: 'Stores it on the server.',
  html_url: `${page}/pulls/7`,
  merged: false,
  draft: false,
  head: { ref: 'basket', sha: '1dc6aa69429bff48' },
  base: { ref: 'main' },
  assignee: null,
}
const comment = { id: 1, body: 'On phones too.', html_url: `${page}/issues/3#issuecomment-1`, user: ada }
const commit = {
  id: '1dc6aa69429bff4806ad',
  message: 'Keep the basket\n\nOn the server.',
  author: { name: 'Ada', username: 'ada' },
}
const push = {
  ref: 'refs/heads/main',
  before: '9fec847784abb10b2fa5',
  after: '1dc6aa69429bff4806ad',
  compare_url: `${page}/compare/9fec847...1dc6aa6`,
  commits: [commit],
  total_commits: 1,
  pusher: ada,
}
const run = {
  id: 5,
  display_title: 'Keep the basket',
  path: 'test.yml@refs/heads/main',
  conclusion: 'failure',
  status: 'completed',
  html_url: `${page}/actions/runs/5`,
  head_branch: 'main',
  head_sha: '1dc6aa69429bff4806ad',
}
const forgejoRun = {
  id: 5,
  title: 'Keep the basket',
  workflow_id: 'test.yml',
  html_url: `${page}/actions/runs/5`,
  prettyref: 'main',
  commit_sha: '1dc6aa69429bff4806ad',
  status: 'failure',
}
const zeros = '0'.repeat(40)

function event(
  name: string,
  what: string,
  { family = 'gitea', ...more }: { family?: string; [key: string]: unknown } = {},
): Sample {
  const headers = { [`x-${family}-event`]: name, [`x-${family}-delivery`]: `${name} ${what}` }
  return one(what, { repository, sender: ada, ...more }, headers)
}

export const gitea: Samples = {
  told: [
    event('pull_request', 'a pull request with its number at the top level', {
      action: 'opened',
      number: 7,
      pull_request: { ...pull, number: undefined },
    }),
    event('pull_request_approved', 'a review with its number at the top level', {
      action: 'reviewed',
      number: 7,
      pull_request: { ...pull, number: undefined },
      review: { type: 'pull_request_review_approved', content: '' },
    }),
    event('issues', 'an issue with its number at the top level', {
      action: 'closed',
      number: 3,
      issue: { ...issue, number: undefined },
    }),
    event('pull_request', 'fields of other types', {
      action: 'opened',
      number: '7',
      repository: 'octo/shop',
      pull_request: { ...pull, number: null, title: 5, head: [] },
    }),
    event('push', 'a push', push),
    event('push', 'a push of many commits', {
      ...push,
      commits: Array.from({ length: 12 }, () => commit),
      total_commits: 12,
    }),
    event('push', 'a push of Gogs', { ...push, total_commits: undefined, family: 'gogs' }),
    event('push', 'a push that only removes commits', { ...push, commits: [], total_commits: 0 }),
    event('create', 'a new branch', { ref: 'basket', ref_type: 'branch', sha: '1dc6aa6' }),
    event('delete', 'a deleted tag', { ref: 'v1', ref_type: 'tag', pusher_type: 'user' }),
    event('fork', 'a fork', {
      forkee: repository,
      repository: { full_name: 'ada/shop', html_url: 'https://git.example.com/ada/shop' },
    }),
    event('issues', 'an issue', { action: 'opened', number: 3, issue }),
    event('issues', 'an issue of Forgejo', { action: 'closed', number: 3, issue, family: 'forgejo' }),
    event('issues', 'an assigned issue', { action: 'assigned', issue }),
    event('issues', 'an issue with little', { action: 'reopened', issue: { number: 3 }, sender: null }),
    event('issue_comment', 'a comment', { action: 'created', issue, comment, is_pull: false }),
    event('issue_comment', 'a comment on a pull request', { action: 'created', issue: pull, comment, is_pull: true }),
    event('pull_request', 'a pull request', { action: 'opened', number: 7, pull_request: pull }),
    event('pull_request', 'a draft', { action: 'opened', pull_request: { ...pull, draft: true } }),
    event('pull_request', 'a merge', { action: 'closed', pull_request: { ...pull, merged: true } }),
    event('pull_request', 'one that is closed', { action: 'closed', pull_request: pull }),
    event('pull_request', 'one that is reopened', { action: 'reopened', pull_request: pull }),
    event('pull_request', 'one that is assigned', { action: 'assigned', pull_request: { ...pull, assignee: ada } }),
    event('pull_request', 'a request for a review', {
      action: 'review_requested',
      pull_request: pull,
      requested_reviewer: { login: 'grace' },
    }),
    event('pull_request_approved', 'an approval', {
      action: 'reviewed',
      pull_request: pull,
      review: { type: 'pull_request_review_approved', content: 'Well done.' },
    }),
    event('pull_request_rejected', 'a request for changes', {
      action: 'reviewed',
      pull_request: pull,
      review: { content: 'Needs a test.' },
    }),
    event('pull_request_comment', 'a review without words', {
      action: 'reviewed',
      pull_request: pull,
      review: { content: '' },
    }),
    event('release', 'a release', {
      action: 'published',
      release: { tag_name: 'v1', name: 'Baskets', body: 'News', html_url: `${page}/releases/tag/v1` },
    }),
    event('release', 'a deleted release', { action: 'deleted', release: { tag_name: 'v1', name: 'v1' } }),
    event('wiki', 'a page of the wiki', { action: 'edited', page: 'Home' }),
    event('repository', 'a new repository', { action: 'created', organization: { login: 'octo' } }),
    event('package', 'a package', {
      action: 'created',
      package: { name: 'shop', version: '1.0', type: 'npm', html_url: `${page}/packages` },
    }),
    event('status', 'a failed status', {
      state: 'failure',
      context: 'ci/tests',
      sha: '1dc6aa69429bff4806ad',
      description: '3 failed',
      target_url: 'https://ci.example.com/1',
    }),
    event('workflow_run', 'a failed workflow', { action: 'completed', workflow: { name: 'Tests' }, workflow_run: run }),
    event('action_run_failure', 'a failed run of Forgejo', {
      action: 'failure',
      run: forgejoRun,
      prior_status: 'running',
      family: 'forgejo',
    }),
    event('action_run_recover', 'a run that succeeds again', {
      action: 'recover',
      run: forgejoRun,
      sender: undefined,
      family: 'forgejo',
    }),
    event('star_added', 'another event', { action: 'created' }),
  ],
  silent: [
    event('push', 'the test of a webhook', { ...push, before: push.after }),
    event('push', 'a new branch, which another event reports', {
      ...push,
      before: zeros,
      commits: [],
      total_commits: 0,
    }),
    event('push', 'a deleted branch, which another event reports', { ...push, after: zeros }),
    event('push', 'a tag, which another event reports', { ...push, ref: 'refs/tags/v1' }),
    event('issues', 'an edit', { action: 'edited', issue }),
    event('issues', 'a label', { action: 'label_updated', issue }),
    event('pull_request', 'new commits', { action: 'synchronized', pull_request: pull }),
    event('issue_comment', 'an edited comment', { action: 'edited', issue, comment }),
    event('issue_comment', 'a comment of a workflow', {
      action: 'created',
      issue,
      comment: { ...comment, user: { login: 'gitea-actions' } },
    }),
    event('pull_request_comment', 'a review of a workflow', {
      action: 'reviewed',
      sender: { login: 'forgejo-actions' },
      pull_request: pull,
      review: { content: 'Nice' },
    }),
    event('release', 'a changed release', { action: 'updated', release: { tag_name: 'v1' } }),
    event('status', 'a status that is pending', { state: 'pending', context: 'ci/tests' }),
    event('workflow_run', 'a workflow that succeeds', {
      action: 'completed',
      workflow_run: { ...run, conclusion: 'success' },
    }),
    event('workflow_job', 'a job', { action: 'completed' }),
    event('action_run_success', 'a run that succeeds', { run: forgejoRun, family: 'forgejo' }),
  ],
  wrong: [
    one('no event', { action: 'opened' }),
    one('a form', { payload: '{"action":"opened"}' }, { 'x-gitea-event': 'issues' }),
    one('a list', [], { 'x-gitea-event': 'issues' }),
    one('a text', 'opened', { 'x-gitea-event': 'issues' }),
  ],
}
