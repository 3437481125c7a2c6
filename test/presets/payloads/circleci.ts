// Payloads of CircleCI, after its reference of outbound webhooks.
import { createHmac } from 'node:crypto'
import { one, type Samples, type Signed } from '../sample.ts'

const workflow = {
  id: 'w1',
  name: 'build-test',
  url: 'https://app.circleci.com/pipelines/github/octo/shop/130/workflows/w1',
}
const vcs = {
  provider_name: 'github',
  revision: '1dc6aa69429bff4806ad',
  commit: { subject: 'Keep the basket', body: '', author: { name: 'Ada', email: 'ada@example.com' } },
  branch: 'main',
}
const event = (type: string, more: object = {}) => ({
  id: '3888f21b',
  type,
  happened_at: '2030-01-31T09:00:00.000Z',
  webhook: { id: 'h1', name: 'gateway' },
  project: { id: 'p1', name: 'shop', slug: 'github/octo/shop' },
  organization: { id: 'o1', name: 'octo' },
  workflow,
  pipeline: { id: 'l1', number: 130, trigger: { type: 'webhook' }, vcs },
  ...more,
})
const ended = (status: string) => event('workflow-completed', { workflow: { ...workflow, status } })
const job = (status: string) => event('job-completed', { job: { id: 'j1', name: 'test', number: 136, status } })
const parameters = {
  trigger_parameters: {
    git: { branch: '', tag: 'v1', checkout_sha: '850a1519f25d14e9', ref: 'refs/tags/v1' },
    gitlab: { branch: '', commit_title: 'Update README.md', commit_author_name: 'Grace' },
    circleci: { event_type: 'push' },
  },
}

const secret = 'a secret of the webhook'
const body = JSON.stringify({ text: 'Grüße 🌍' })
const signed: Signed = {
  auth: { secret },
  headers: { 'circleci-signature': `v2=0a1b,v1=${createHmac('sha256', secret).update(body).digest('hex')}` },
  body,
}

export const circleci: Samples = {
  signed,
  told: [
    one('a workflow that failed', ended('failed')),
    one('a workflow with an error', ended('error')),
    one('a workflow that was not allowed', ended('unauthorized')),
    one('a job that failed', job('failed')),
    one('a workflow of GitLab', { ...ended('failed'), pipeline: { id: 'l1', number: 1, ...parameters } }),
    one('fields of other types', {
      ...ended('failed'),
      workflow: { ...workflow, status: 'failed', name: 5 },
      pipeline: 130,
      project: 'shop',
    }),
    one('a workflow of which little is known', { type: 'workflow-completed', workflow: { status: 'failed' } }),
  ],
  silent: [
    one('a workflow that succeeded', ended('success')),
    one('a workflow that was canceled', ended('canceled')),
    one('a job that succeeded', job('success')),
    one('a ping', { type: 'ping', id: 'x', webhook: {} }),
    one('another event', event('pipeline-created', { workflow: { ...workflow, status: 'failed' } })),
  ],
  wrong: [
    one('nothing', {}),
    one('a type that is an object', { type: {} }),
    one('a type that is empty', { type: '' }),
    one('a text', 'workflow-completed'),
    one('a list', []),
  ],
}
