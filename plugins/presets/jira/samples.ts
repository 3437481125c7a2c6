// Samples of Jira's webhooks: a new issue, a new state, and a comment.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const event = (webhookEvent: string) => ({ timestamp: Date.parse(now), webhookEvent, user: ada, issue })
  const headers = { 'x-atlassian-webhook-identifier': id }
  const items = [{ field: 'status', fromString: 'To Do', toString: 'In Progress' }]
  const comment = {
    id: String(Date.parse(now)),
    self: `${issue.self}/comment/${Date.parse(now)}`,
    author: ada,
    body: 'It happens on phones only.',
  }
  return [
    { name: 'issue-created', payload: event('jira:issue_created'), headers },
    { name: 'issue-moved', payload: { ...event('jira:issue_updated'), changelog: { id: '1', items } }, headers },
    { name: 'comment-created', payload: { ...event('comment_created'), comment }, headers },
  ]
}

const ada = { accountId: 'a1', accountType: 'atlassian', displayName: 'Ada Lovelace', active: true }

const issue = {
  id: '10042',
  self: 'https://example.atlassian.net/rest/api/2/issue/10042',
  key: 'SHOP-7',
  fields: {
    summary: 'The cart loses items',
    description: 'Steps:\n1. Add two items\n2. Reload the page',
    issuetype: { name: 'Bug', subtask: false },
    status: { name: 'To Do' },
    priority: { name: 'High' },
    assignee: { displayName: 'Grace Hopper' },
    project: { id: '1', key: 'SHOP', name: 'Shop' },
  },
}
