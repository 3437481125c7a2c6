// Samples of GitLab's webhooks: an issue, a merge request, and a push.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const event = (name: string) => ({ 'x-gitlab-event': name, 'idempotency-key': id })
  return [
    { name: 'issue-opened', payload: issue, headers: event('Issue Hook') },
    { name: 'merge-request-opened', payload: mergeRequest, headers: event('Merge Request Hook') },
    { name: 'push', payload: push, headers: event('Push Hook') },
  ]
}

const project = {
  id: 1,
  name: 'shop',
  path_with_namespace: 'octo/shop',
  web_url: 'https://gitlab.example.com/octo/shop',
}
const ada = { id: 1, name: 'Ada', username: 'ada' }
const sha = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7'

const issue = {
  object_kind: 'issue',
  event_type: 'issue',
  user: ada,
  project,
  object_attributes: {
    id: 3,
    iid: 7,
    title: 'The cart loses items',
    description: 'After a reload.',
    url: `${project.web_url}/-/issues/7`,
    action: 'open',
    state: 'opened',
  },
  assignees: [ada],
  labels: [],
}

const mergeRequest = {
  object_kind: 'merge_request',
  event_type: 'merge_request',
  user: ada,
  project,
  object_attributes: {
    id: 4,
    iid: 9,
    title: 'Keep the cart',
    description: 'Closes #7',
    url: `${project.web_url}/-/merge_requests/9`,
    action: 'open',
    state: 'opened',
    source_branch: 'cart',
    target_branch: 'main',
  },
}

const push = {
  object_kind: 'push',
  event_name: 'push',
  before: '95790bf891e76fee5e1747ab589903a6a1f80f22',
  after: sha,
  ref: 'refs/heads/main',
  user_name: 'Ada',
  user_username: 'ada',
  project,
  commits: [{ id: sha, message: 'Keep the cart', author: { name: 'Ada', email: 'ada@example.com' } }],
  total_commits_count: 1,
}
