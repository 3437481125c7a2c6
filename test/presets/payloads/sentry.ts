// Payloads of Sentry, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

const sentryIssue = {
  id: '7',
  shortId: 'WEB-7',
  title: 'TypeError: x is no number',
  culprit: 'cart.ts in total',
  level: 'error',
  status: 'unresolved',
  project: { id: '1', name: 'Web', slug: 'web' },
  count: '12',
  userCount: 3,
  firstSeen: '2030-01-30T08:00:00Z',
  web_url: 'https://sentry.io/issues/7/',
  metadata: { value: 'x is no number', type: 'TypeError' },
}

export const sentry: Samples = {
  told: [
    one(
      'a new issue',
      {
        action: 'created',
        installation: { uuid: 'u' },
        data: { issue: sentryIssue },
        actor: { type: 'application', id: 'sentry', name: 'Sentry' },
      },
      { 'sentry-hook-resource': 'issue' },
    ),
    one(
      'an issue that somebody resolved',
      { action: 'resolved', data: { issue: sentryIssue }, actor: { type: 'user', id: 1, name: 'Ada' } },
      { 'sentry-hook-resource': 'issue' },
    ),
    one(
      'an alert',
      {
        action: 'triggered',
        data: {
          event: {
            issue_id: '7',
            title: 'TypeError: x is no number',
            culprit: 'cart.ts',
            level: 'error',
            environment: 'production',
            project: 1,
            url: 'https://sentry.io/api/0/projects/acme/front-end/events/e1/',
            web_url: 'https://sentry.io/issues/7/events/1/',
            metadata: {},
          },
          triggered_rule: 'Many errors',
        },
      },
      { 'sentry-hook-resource': 'event_alert' },
    ),
    one(
      'a metric',
      {
        action: 'critical',
        data: {
          metric_alert: { id: '3', date_started: '2030-01-31T09:00:00Z', alert_rule: { id: '4', name: 'Latency' } },
          description_title: 'Critical: Latency',
          description_text: '900 ms in the last 5 minutes',
          web_url: 'https://sentry.io/alerts/3/',
        },
        actor: { name: 'Sentry' },
      },
      { 'sentry-hook-resource': 'metric_alert' },
    ),
    one(
      'a comment',
      {
        action: 'created',
        data: { comment: 'Looking into it', issue_id: 7, comment_id: 1, project_slug: 'web', timestamp: 't' },
        actor: { type: 'user', id: 1, name: 'Ada' },
      },
      { 'sentry-hook-resource': 'comment' },
    ),
    one(
      'an issue that somebody assigned',
      {
        action: 'assigned',
        data: {
          issue: { ...sentryIssue, assignedTo: { type: 'user', id: '2', name: 'Grace', email: 'g@example.com' } },
        },
        actor: { type: 'user', id: 1, name: 'Ada' },
      },
      { 'sentry-hook-resource': 'issue' },
    ),
    one(
      'an issue that came back',
      {
        action: 'unresolved',
        data: { issue: { ...sentryIssue, substatus: 'regressed' } },
        actor: { type: 'application', id: 'sentry', name: 'Sentry' },
      },
      { 'sentry-hook-resource': 'issue' },
    ),
    one(
      'an error',
      {
        action: 'created',
        data: {
          error: {
            event_id: 'e2',
            issue_id: '8',
            title: 'Error: no',
            culprit: 'pay.ts',
            level: 'fatal',
            project: 1,
            url: 'https://sentry.io/api/0/projects/acme/front-end/events/e2/',
            web_url: 'https://sentry.io/issues/8/events/e2/',
          },
        },
      },
      { 'sentry-hook-resource': 'error' },
    ),
    one(
      'an alert of an activity',
      { action: 'triggered', data: { issue: sentryIssue, triggered_rule: 'Regressions' } },
      { 'sentry-hook-resource': 'activity_alert' },
    ),
    ...['issue_url', 'web_url'].map((name) =>
      one(
        `an alert that names its issue only in ${name}`,
        {
          action: 'triggered',
          data: {
            event: {
              event_id: 'e1',
              title: 'TypeError: x is no number',
              project: 1,
              [name]: `https://sentry.io/api/0/issues/${name === 'web_url' ? 8 : 9}/`,
            },
            triggered_rule: 'Many errors',
          },
        },
        { 'sentry-hook-resource': 'event_alert' },
      ),
    ),
    one(
      'an alert without an issue',
      { action: 'triggered', data: { event: { event_id: 'e5', title: 5 }, triggered_rule: 'Any\nLevel: info' } },
      { 'sentry-hook-resource': 'event_alert' },
    ),
    one(
      'an issue whose title would add lines',
      {
        action: 'created',
        data: { issue: { ...sentryIssue, title: 'Error: a\nLevel: info', metadata: { value: 'first\nsecond' } } },
      },
      { 'sentry-hook-resource': 'issue' },
    ),
    one('the older plugin', {
      id: '7',
      project: 'web',
      project_name: 'Web',
      project_slug: 'web',
      logger: null,
      level: 'error',
      culprit: 'cart.ts',
      message: '',
      url: 'https://sentry.io/issues/7/',
      triggering_rules: ['All errors'],
      event: { event_id: 'e', id: '99', title: 'ValueError: no', level: 'error', metadata: { value: 'no' } },
    }),
  ],
  silent: [
    one(
      'a resource that the preset does not know',
      { action: 'root_cause_completed', data: { run_id: 1, root_cause: {} } },
      { 'sentry-hook-resource': 'seer' },
    ),
    one(
      'an installation',
      { action: 'created', data: { installation: { uuid: 'u' } } },
      { 'sentry-hook-resource': 'installation' },
    ),
    one(
      'an issue that was archived',
      { action: 'archived', data: { issue: sentryIssue } },
      { 'sentry-hook-resource': 'issue' },
    ),
    one(
      'a comment of an integration',
      {
        action: 'created',
        data: { comment: 'Done', issue_id: 7, project_slug: 'web' },
        actor: { type: 'application', id: 'a1', name: 'Agent' },
      },
      { 'sentry-hook-resource': 'comment' },
    ),
    one('a comment that was changed', { action: 'updated', data: { comment: 'x', issue_id: 7 } }),
  ],
  wrong: [
    one('nothing', {}),
    one('a list', [{ action: 'created' }]),
    one('data that is a text', { action: 'created', data: 'x' }),
    one('empty data', { action: 'created', data: {} }),
    one('an issue that is a list', { action: 'created', data: { issue: [] } }),
  ],
}
