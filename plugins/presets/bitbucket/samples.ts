// Samples of Bitbucket's webhooks: a pull request, a push, and an issue.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const event = (key: string) => ({ 'x-event-key': key, 'x-request-uuid': id })
  const base = { actor: ada, repository }
  return [
    { name: 'pull-request-created', payload: { ...base, pullrequest }, headers: event('pullrequest:created') },
    { name: 'push', payload: { ...base, push: { changes: [change] } }, headers: event('repo:push') },
    { name: 'issue-created', payload: { ...base, issue }, headers: event('issue:created') },
  ]
}

const page = 'https://bitbucket.org/octo/shop'
const ada = { type: 'user', display_name: 'Ada Lovelace', nickname: 'ada', uuid: '{a1}' }
const repository = {
  type: 'repository',
  full_name: 'octo/shop',
  name: 'shop',
  uuid: '{r1}',
  links: { html: { href: page } },
}

const pullrequest = {
  id: 7,
  title: 'Keep the cart',
  description: 'Stores it on the server.',
  state: 'OPEN',
  source: { branch: { name: 'cart' }, commit: { hash: '1dc6aa69429bff48' } },
  destination: { branch: { name: 'main' } },
  links: { html: { href: `${page}/pull-requests/7` } },
}

const main = { type: 'branch', name: 'main', target: { hash: '1dc6aa69429bff48' } }
const change = {
  new: main,
  old: main,
  created: false,
  closed: false,
  forced: false,
  truncated: false,
  commits: [
    { hash: '1dc6aa69429bff48', message: 'Keep the cart', author: { raw: 'Ada <ada@example.com>', user: ada } },
  ],
  links: { html: { href: `${page}/branches/compare/1dc6aa6..9fec847` } },
}

const issue = {
  id: 3,
  title: 'The cart loses items',
  content: { raw: 'After a reload.', html: '<p>After a reload.</p>' },
  state: 'new',
  kind: 'bug',
  priority: 'major',
  links: { html: { href: `${page}/issues/3` } },
}
