// Samples of Sentry's webhooks: a new issue, and an alert of a rule.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id }: SampleSeed): SampleRequest[] => {
  const headers = (resource: string) => ({ 'sentry-hook-resource': resource, 'request-id': id })
  const installation = { uuid: 'a8e5d37a-696c-4c54-adb5-b3f28d64c7de' }
  return [
    {
      name: 'issue-created',
      payload: {
        action: 'created',
        installation,
        data: { issue },
        actor: { type: 'application', id: 'sentry', name: 'Sentry' },
      },
      headers: headers('issue'),
    },
    {
      name: 'alert-triggered',
      payload: { action: 'triggered', installation, data: { event, triggered_rule: 'Many errors' } },
      headers: headers('event_alert'),
    },
  ]
}

const issue = {
  id: '7',
  shortId: 'WEB-7',
  title: 'TypeError: total is not a number',
  culprit: 'cart.ts in total',
  level: 'error',
  status: 'unresolved',
  project: { id: '1', name: 'Web', slug: 'web' },
  count: '12',
  userCount: 3,
  web_url: 'https://acme.sentry.io/issues/7/',
  metadata: { value: 'total is not a number', type: 'TypeError' },
}

const event = {
  issue_id: '7',
  title: 'TypeError: total is not a number',
  culprit: 'cart.ts in total',
  level: 'error',
  environment: 'production',
  project: 1,
  url: 'https://sentry.io/api/0/projects/acme/web/events/e1/',
  web_url: 'https://acme.sentry.io/issues/7/events/e1/',
  metadata: { value: 'total is not a number', type: 'TypeError' },
}
