// Samples of CircleCI's webhooks: a workflow and a job that failed.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => {
  const base = {
    id,
    happened_at: now,
    webhook: { id: 'c6a1f0de-0000-4000-8000-000000000001', name: 'gateway' },
    project: { id: 'c6a1f0de-0000-4000-8000-000000000002', name: 'shop', slug: 'github/octo/shop' },
    organization: { id: 'c6a1f0de-0000-4000-8000-000000000003', name: 'octo' },
    pipeline,
  }
  return [
    {
      name: 'workflow-failed',
      payload: { ...base, type: 'workflow-completed', workflow: { ...workflow, status: 'failed' } },
    },
    {
      name: 'job-failed',
      payload: {
        ...base,
        type: 'job-completed',
        workflow,
        job: { id: 'j1', name: 'test', number: 136, status: 'failed' },
      },
    },
  ]
}

const workflow = {
  id: 'w1',
  name: 'build-test',
  url: 'https://app.circleci.com/pipelines/github/octo/shop/130/workflows/w1',
}

const pipeline = {
  id: 'l1',
  number: 130,
  trigger: { type: 'webhook' },
  vcs: {
    provider_name: 'github',
    revision: '1dc6aa69429bff4806ad6afe58d3d8f57e25973e',
    branch: 'main',
    commit: { subject: 'Keep the cart', body: '', author: { name: 'Ada Lovelace', email: 'ada@example.com' } },
  },
}
