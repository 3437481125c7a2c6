// Samples of Gitea's webhooks: an issue, a pull request, and a push.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const event = (name: string) => ({ 'x-gitea-event': name, 'x-gitea-delivery': id })
  const base = { repository, sender: ada }
  return [
    { name: 'issue-opened', payload: { ...base, action: 'opened', number: 3, issue }, headers: event('issues') },
    {
      name: 'pull-request-opened',
      payload: { ...base, action: 'opened', number: 7, pull_request: pull },
      headers: event('pull_request'),
    },
    { name: 'push', payload: { ...base, ...push }, headers: event('push') },
  ]
}

const page = 'https://git.example.com/octo/shop'
const ada = { id: 1, login: 'ada', username: 'ada', full_name: 'Ada Lovelace' }
const repository = { id: 1, name: 'shop', full_name: 'octo/shop', html_url: page, private: false }

const issue = {
  id: 11,
  number: 3,
  title: 'The cart loses items',
  body: 'After a reload.',
  html_url: `${page}/issues/3`,
  assignee: { login: 'grace' },
  pull_request: null,
}

const pull = {
  id: 12,
  number: 7,
  title: 'Keep the cart',
  body: 'Stores it on the server.',
  html_url: `${page}/pulls/7`,
  merged: false,
  draft: false,
  head: { ref: 'cart', sha: '1dc6aa69429bff48' },
  base: { ref: 'main' },
  assignee: null,
}

const push = {
  ref: 'refs/heads/main',
  before: '9fec847784abb10b2fa567ee63b85bd238955d0e',
  after: '1dc6aa69429bff4806ad6afe58d3d8f57e25973e',
  compare_url: `${page}/compare/9fec847...1dc6aa6`,
  commits: [
    {
      id: '1dc6aa69429bff4806ad6afe58d3d8f57e25973e',
      message: 'Keep the cart',
      author: { name: 'Ada', username: 'ada' },
    },
  ],
  total_commits: 1,
  pusher: ada,
}
