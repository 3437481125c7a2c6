// Samples of Linear's webhooks: a new issue, a new state, and a comment.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const headers = { 'linear-delivery': id }
  const event = {
    createdAt: now,
    organizationId: 'o1',
    webhookTimestamp: Date.parse(now),
    webhookId: 'w1',
    actor: { id: 'u2', name: 'Ada', type: 'user' },
    url: 'https://linear.app/shop/issue/ENG-7',
  }
  const comment = {
    id: 'c1',
    body: 'It happens on phones only.',
    issue: { id: 'i7', identifier: 'ENG-7', title: 'The cart loses items' },
    user: { name: 'Ada' },
  }
  return [
    { name: 'issue-created', payload: { ...event, action: 'create', type: 'Issue', data: issue }, headers },
    {
      name: 'issue-moved',
      payload: { ...event, action: 'update', type: 'Issue', data: issue, updatedFrom: { stateId: 's0' } },
      headers,
    },
    { name: 'comment-created', payload: { ...event, action: 'create', type: 'Comment', data: comment }, headers },
  ]
}

const issue = {
  id: 'i7',
  identifier: 'ENG-7',
  title: 'The cart loses items',
  description: 'Steps:\n1. Add two items\n2. Reload the page',
  priorityLabel: 'Urgent',
  dueDate: '2030-02-01',
  state: { id: 's1', name: 'In Progress', type: 'started' },
  assignee: { id: 'u1', name: 'Grace' },
  team: { key: 'ENG', name: 'Engineering' },
}
