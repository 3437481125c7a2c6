// Samples of GitHub's webhooks: an issue, a pull request, a push, and a workflow that failed.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const event = (name: string) => ({ 'x-github-event': name, 'x-github-delivery': id })
  const base = { sender: ada, repository }
  return [
    { name: 'issue-opened', payload: { ...base, action: 'opened', issue }, headers: event('issues') },
    {
      name: 'pull-request-opened',
      payload: { ...base, action: 'opened', number: 9, pull_request: pull },
      headers: event('pull_request'),
    },
    { name: 'push', payload: { ...base, ...push }, headers: event('push') },
    {
      name: 'workflow-failed',
      payload: { ...base, action: 'completed', workflow_run: run },
      headers: event('workflow_run'),
    },
  ]
}

const page = 'https://github.com/octo/shop'
const ada = { login: 'ada', type: 'User' }
const repository = { full_name: 'octo/shop', html_url: page }
const sha = '1dc6aa69429bff4806ad6afe58d3d8f57e25973e'

const issue = {
  number: 7,
  title: 'The cart loses items',
  body: 'Steps:\n1. Add two items\n2. Reload the page',
  html_url: `${page}/issues/7`,
  user: ada,
}

const pull = {
  number: 9,
  title: 'Keep the cart',
  body: 'Closes #7',
  html_url: `${page}/pull/9`,
  user: ada,
  merged: false,
  draft: false,
  additions: 5,
  deletions: 1,
  head: { ref: 'cart', sha },
  base: { ref: 'main' },
}

const push = {
  ref: 'refs/heads/main',
  before: '9fec847784abb10b2fa567ee63b85bd238955d0e',
  after: sha,
  created: false,
  deleted: false,
  forced: false,
  compare: `${page}/compare/9fec847...1dc6aa6`,
  commits: [{ id: sha, message: 'Keep the cart', author: { name: 'Ada', username: 'ada' } }],
  pusher: { name: 'ada' },
}

const run = {
  id: 5,
  name: 'CI',
  conclusion: 'failure',
  html_url: `${page}/actions/runs/5`,
  head_branch: 'main',
  head_sha: sha,
  pull_requests: [],
}
