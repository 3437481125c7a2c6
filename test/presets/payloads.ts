// Handwritten payloads after the documentation of each service: accepted, skipped and invalid ones.

export interface Sample {
  what: string
  payload: unknown
  headers?: Record<string, string>
}

export interface Samples {
  told: readonly Sample[]
  silent: readonly Sample[]
  wrong: readonly Sample[]
}

const one = (what: string, payload: unknown, headers?: Record<string, string>): Sample => ({
  what,
  payload,
  ...(headers && { headers }),
})

const stripeEvent = (type: string, object: object, more: object = {}) => ({
  id: 'evt_1',
  object: 'event',
  api_version: '2025-03-31',
  created: 1_900_000_000,
  livemode: true,
  pending_webhooks: 1,
  type,
  data: { object },
  ...more,
})
const charge = {
  id: 'ch_1',
  object: 'charge',
  amount: 2099,
  currency: 'usd',
  customer: 'cus_9',
  receipt_email: 'ada@example.com',
  status: 'failed',
  failure_message: 'Your card was declined.',
}

const stripe: Samples = {
  told: [
    one('a charge that failed', stripeEvent('charge.failed', charge)),
    one(
      'a checkout in yen, of a test',
      stripeEvent(
        'checkout.session.completed',
        {
          id: 'cs_1',
          object: 'checkout.session',
          amount_total: 500,
          currency: 'jpy',
          customer: null,
          customer_email: 'a@example.com',
          status: 'complete',
        },
        { livemode: false },
      ),
    ),
    one(
      'a new customer',
      stripeEvent('customer.created', {
        id: 'cus_9',
        object: 'customer',
        name: 'Ada',
        email: 'ada@example.com',
        description: null,
      }),
    ),
    one(
      'an invoice that was not paid',
      stripeEvent('invoice.payment_failed', {
        id: 'in_1',
        object: 'invoice',
        amount_due: 1000,
        currency: 'eur',
        customer: { id: 'cus_9', object: 'customer' },
        number: 'A-1',
        status: 'open',
        hosted_invoice_url: 'https://invoice.stripe.com/i/1',
      }),
    ),
    one(
      'a dispute of a connected account',
      stripeEvent(
        'charge.dispute.created',
        {
          id: 'dp_1',
          object: 'dispute',
          amount: 1000,
          currency: 'usd',
          reason: 'fraudulent',
          status: 'needs_response',
        },
        { account: 'acct_1' },
      ),
    ),
  ],
  silent: [
    one('an intent', stripeEvent('payment_intent.created', { id: 'pi_1', object: 'payment_intent' })),
    one('an upcoming invoice', stripeEvent('invoice.upcoming', { object: 'invoice' })),
  ],
  wrong: [
    one('nothing', {}),
    one('no id', { type: 'charge.failed', data: { object: charge } }),
    one('an id that is none', { id: 5, type: 'charge.failed', data: { object: charge } }),
    one('no data', { id: 'evt_1', type: 'charge.failed' }),
    one('an object that is a text', { id: 'evt_1', type: 'charge.failed', data: { object: 'ch_1' } }),
    one('an amount that is a text', stripeEvent('charge.failed', { ...charge, amount: '20.99' })),
  ],
}

const standardWebhooks: Samples = {
  told: [
    one(
      'a user',
      {
        type: 'user.created',
        timestamp: '2030-01-31T09:00:00Z',
        data: {
          id: 'user_1',
          email: 'ada@example.com',
          plan: { name: 'pro', seats: 3 },
          tags: ['a', 'b'],
          deleted: false,
          note: null,
        },
      },
      { 'webhook-id': 'msg_1' },
    ),
    one(
      'much, and deep',
      {
        type: 'report.ready',
        data: { rows: Array.from({ length: 40 }, (_, row) => row), deep: { a: { b: { c: { d: 1 } } } } },
      },
      { 'svix-id': 'msg_2' },
    ),
    one('no data', { type: 'ping.sent' }),
    one('the thing itself', { id: 'p1', status: 'succeeded', output: ['https://example.com/1.png'], error: null }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('a list', []),
    one('no type and no data', { data: {} }),
    one('an empty type', { type: '', data: {} }),
    one('a type that is a number', { type: 1 }),
    one('an endless type', { type: 'x'.repeat(201) }),
  ],
}

const slackEvent = (event: object) => ({
  token: 'z',
  team_id: 'T1',
  api_app_id: 'A1',
  type: 'event_callback',
  event_id: 'Ev1',
  event_time: 1_900_000_000,
  authorizations: [{}],
  event,
})

const slack: Samples = {
  told: [
    one(
      'a mention',
      slackEvent({
        type: 'app_mention',
        user: 'U1',
        text: '<@U9> what is broken?',
        ts: '1.1',
        channel: 'C1',
        event_ts: '1.1',
      }),
    ),
    one(
      'a message in a thread',
      slackEvent({
        type: 'message',
        user: 'U1',
        text: 'still broken',
        ts: '1.3',
        thread_ts: '1.1',
        channel: 'C1',
        channel_type: 'channel',
      }),
    ),
    one(
      'a direct message with a file',
      slackEvent({
        type: 'message',
        subtype: 'file_share',
        user: 'U1',
        text: 'see',
        ts: '1.4',
        channel: 'D1',
        channel_type: 'im',
        files: [{ name: 'log.txt' }],
      }),
    ),
    one(
      'a reaction',
      slackEvent({
        type: 'reaction_added',
        user: 'U1',
        reaction: 'eyes',
        item: { type: 'message', channel: 'C1', ts: '1.1' },
        item_user: 'U2',
      }),
    ),
    one('a new channel', slackEvent({ type: 'channel_created', channel: { id: 'C2', name: 'fun', created: 1 } })),
    one('too much', {
      token: 'z',
      team_id: 'T1',
      type: 'app_rate_limited',
      minute_rate_limited: 1_900_000_000,
      api_app_id: 'A1',
    }),
  ],
  silent: [
    one('a bot', slackEvent({ type: 'message', bot_id: 'B1', text: 'beep', ts: '1.5', channel: 'C1' })),
    one(
      'a bot that says who it is',
      slackEvent({ type: 'message', user: 'U9', bot_profile: { id: 'B1' }, text: 'beep', ts: '1.5', channel: 'C1' }),
    ),
    one('an edit', slackEvent({ type: 'message', subtype: 'message_changed', channel: 'C1', message: {} })),
    one('somebody joins', slackEvent({ type: 'message', subtype: 'channel_join', user: 'U1', channel: 'C1' })),
    one('a handshake that nobody answered', { type: 'url_verification', challenge: 'c' }),
  ],
  wrong: [
    one('nothing', {}),
    one('another type', { type: 'block_actions' }),
    one('an event that is a text', { type: 'event_callback', event: 'message' }),
    one('an event without a type', { type: 'event_callback', event: { text: 'x' } }),
    one('a text that is a list', slackEvent({ type: 'message', text: ['x'] })),
    one('files that are none', slackEvent({ type: 'message', files: 'x' })),
  ],
}

const alert = (more: object = {}) => ({
  status: 'firing',
  labels: { alertname: 'DiskFull', instance: 'db1', severity: 'critical' },
  annotations: { summary: 'Disk of db1 is full' },
  startsAt: '2030-01-31T09:00:00Z',
  endsAt: '0001-01-01T00:00:00Z',
  generatorURL: 'http://prom.example.com/graph?g0',
  fingerprint: 'c5d',
  ...more,
})
const group = (more: object = {}) => ({
  version: '4',
  groupKey: '{}:{alertname="DiskFull"}',
  truncatedAlerts: 0,
  status: 'firing',
  receiver: 'gateway',
  groupLabels: { alertname: 'DiskFull' },
  commonLabels: { alertname: 'DiskFull' },
  commonAnnotations: {},
  externalURL: 'http://alerts.example.com',
  alerts: [alert()],
  ...more,
})

const alertmanager: Samples = {
  told: [
    one('one that fires', group()),
    one(
      'one that is over',
      group({ status: 'resolved', alerts: [alert({ status: 'resolved', endsAt: '2030-01-31T10:00:00Z' })] }),
    ),
    one(
      'several, some of them over',
      group({
        alerts: [
          alert(),
          alert({
            status: 'resolved',
            endsAt: '2030-01-31T10:00:00Z',
            labels: { alertname: 'DiskFull', instance: 'db2' },
          }),
        ],
      }),
    ),
    one(
      'more than are shown',
      group({
        truncatedAlerts: 3,
        alerts: Array.from({ length: 25 }, () => alert({ annotations: {}, generatorURL: '' })),
      }),
    ),
    one('an older version', {
      ...group({ version: '3', groupKey: 123 }),
      commonLabels: {},
      groupLabels: {},
      alerts: [alert({ labels: { job: 'node' } })],
    }),
  ],
  silent: [one('none', group({ alerts: [] }))],
  wrong: [
    one('nothing', {}),
    one('no alerts', { ...group(), alerts: undefined }),
    one('alerts that are none', group({ alerts: {} })),
    one('another status', group({ status: 'pending' })),
    one('an alert without labels', group({ alerts: [{ status: 'firing' }] })),
    one('a label that is a number', group({ alerts: [alert({ labels: { alertname: 5 } })] })),
  ],
}

const grafana: Samples = {
  told: [
    one('one that fires', {
      ...group(),
      title: '[FIRING:1] DiskFull (db1)',
      state: 'alerting',
      message: '**Firing**',
      orgId: 1,
      alerts: [
        alert({
          values: { A: 97 },
          valueString: "[ var='A' value=97 ]",
          dashboardURL: 'https://g.example.com/d/1',
          panelURL: 'https://g.example.com/d/1?viewPanel=2',
          silenceURL: 'https://g.example.com/silence',
        }),
      ],
    }),
    one('one that is over', {
      ...group({ status: 'resolved', alerts: [alert({ status: 'resolved', endsAt: '2030-01-31T10:00:00Z' })] }),
      title: '[RESOLVED] DiskFull',
      state: 'ok',
      message: '',
    }),
    one('one of version 7', {
      title: '[Alerting] Load',
      ruleId: 1,
      ruleName: 'Load',
      state: 'alerting',
      evalMatches: [{ value: 100, metric: 'High value', tags: null }],
      ruleUrl: 'http://g.example.com/alert/1',
      message: 'Too much',
      orgId: 0,
      dashboardId: 1,
      panelId: 1,
      tags: {},
    }),
    one('one without anything', { title: 'Hello' }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('no title', group()),
    one('an empty title', { title: '' }),
    one('a title that is a number', { title: 5 }),
    one('alerts that are none', { title: 'x', alerts: 'x' }),
    one('matches that are none', { title: 'x', evalMatches: [5] }),
  ],
}

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
  web_url: 'https://sentry.io/issues/7/',
  metadata: { value: 'x is no number', type: 'TypeError' },
}

const sentry: Samples = {
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
          metric_alert: { id: '3', alert_rule: { id: '4', name: 'Latency' } },
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
      triggering_rules: [],
      event: { event_id: 'e', title: 'ValueError: no', level: 'error', metadata: { value: 'no' } },
    }),
  ],
  silent: [
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
    one('a comment that was changed', { action: 'updated', data: { comment: 'x', issue_id: 7 } }),
  ],
  wrong: [
    one('nothing', {}),
    one('a list', [{ action: 'created' }]),
    one('data that is a text', { action: 'created', data: 'x' }),
    one('empty data', { action: 'created', data: {} }),
    one('an issue that is a list', { action: 'created', data: { issue: [] } }),
    one('a title that is a number', { action: 'created', data: { issue: { ...sentryIssue, title: 5 } } }),
  ],
}

const linearIssue = {
  id: 'a-b',
  identifier: 'ENG-7',
  title: 'Cart is empty',
  description: 'Steps: …',
  priorityLabel: 'Urgent',
  dueDate: '2030-02-01',
  state: { id: 's', name: 'In Progress', type: 'started' },
  assignee: { id: 'u', name: 'Ada' },
  team: { key: 'ENG', name: 'Engineering' },
}
const linearEvent = (more: object = {}) => ({
  action: 'create',
  type: 'Issue',
  createdAt: 't',
  organizationId: 'o',
  webhookTimestamp: 1_900_000_000_000,
  webhookId: 'w',
  actor: { id: 'u2', name: 'Bob', type: 'user' },
  url: 'https://linear.app/x/issue/ENG-7',
  data: linearIssue,
  ...more,
})

const linear: Samples = {
  told: [
    one('a new issue', linearEvent(), { 'linear-delivery': 'd' }),
    one(
      'an issue in another state',
      linearEvent({ action: 'update', updatedFrom: { stateId: 's0', sortOrder: 5, updatedAt: 't' } }),
    ),
    one('an issue that is gone', linearEvent({ action: 'remove' })),
    one(
      'a comment',
      linearEvent({
        type: 'Comment',
        url: 'https://linear.app/x/issue/ENG-7#c',
        data: {
          id: 'c',
          body: 'Why?',
          issue: { id: 'a-b', identifier: 'ENG-7', title: 'Cart is empty' },
          user: { name: 'Bob' },
        },
      }),
    ),
    one('a project', linearEvent({ type: 'Project', data: { id: 'p', name: 'Launch', state: 'started' } })),
    one(
      'how a project stands',
      linearEvent({
        type: 'ProjectUpdate',
        data: {
          id: 'pu',
          body: 'All well',
          health: 'onTrack',
          project: { id: 'p', name: 'Launch' },
          user: { name: 'Bob' },
        },
      }),
    ),
  ],
  silent: [
    one(
      'an issue that was moved in a list',
      linearEvent({ action: 'update', updatedFrom: { sortOrder: 5, updatedAt: 't' } }),
    ),
    one('a limit that was missed', { action: 'breached', type: 'IssueSLA', issueData: { id: 'a-b' } }),
    one('a reaction', linearEvent({ type: 'Reaction', data: { id: 'r', emoji: '👍' } })),
    one(
      'a comment of a program',
      linearEvent({ type: 'Comment', data: { id: 'c', body: 'x', botActor: { name: 'bot' } } }),
    ),
    one('a comment that was changed', linearEvent({ type: 'Comment', action: 'update', data: { id: 'c', body: 'x' } })),
  ],
  wrong: [
    one('nothing', {}),
    one('no action', linearEvent({ action: undefined })),
    one('no type', linearEvent({ type: '' })),
    one('no data', linearEvent({ data: undefined })),
    one('data that is a list', linearEvent({ data: [linearIssue] })),
    one('an assignee that is a text', linearEvent({ data: { ...linearIssue, assignee: 'Ada' } })),
  ],
}

const incident = {
  id: 'P1',
  type: 'incident',
  self: 's',
  html_url: 'https://x.pagerduty.com/incidents/P1',
  number: 42,
  status: 'triggered',
  title: 'Site is down',
  urgency: 'high',
  service: { id: 'S', summary: 'Web', html_url: 'h' },
  assignees: [{ id: 'U', summary: 'Ada' }],
  priority: { summary: 'P1' },
  resolve_reason: null,
}
const dutyEvent = (type: string, data: unknown, more: object = {}) => ({
  event: {
    id: 'E1',
    event_type: type,
    resource_type: 'incident',
    occurred_at: '2030-01-31T09:00:00Z',
    agent: { id: 'U', summary: 'Ada' },
    client: null,
    data,
    ...more,
  },
})

const pagerduty: Samples = {
  told: [
    one('an incident', dutyEvent('incident.triggered', incident, { agent: null })),
    one(
      'one that is resolved',
      dutyEvent('incident.resolved', { ...incident, status: 'resolved', priority: null, assignees: [] }),
    ),
    one(
      'a note',
      dutyEvent('incident.annotated', {
        id: 'N1',
        type: 'incident_note',
        content: 'Disk was full',
        trimmed: false,
        incident: { id: 'P1', summary: 'Site is down', html_url: incident.html_url },
      }),
    ),
  ],
  silent: [
    one('a ping', dutyEvent('pagey.ping', { message: 'Hello', type: 'ping' })),
    one('a responder', dutyEvent('incident.responder.added', { incident: { id: 'P1' } })),
  ],
  wrong: [
    one('nothing', {}),
    one('version 2', { messages: [{ event: 'incident.trigger', incident: {} }] }),
    one('an event without an id', { event: { event_type: 'incident.triggered', data: incident } }),
    one('an event without data', { event: { id: 'E1', event_type: 'incident.triggered' } }),
    one('a number that is a text', dutyEvent('incident.triggered', { ...incident, number: '42' })),
    one('an event that is a list', { event: [] }),
  ],
}

const project = {
  id: 1,
  name: 'shop',
  path_with_namespace: 'team/shop',
  web_url: 'https://gitlab.example.com/team/shop',
}
const gitUser = { id: 1, name: 'Ada', username: 'ada' }
const sha = 'da1560886d4f094c3e6c9ef40349f7d38b5d27d7'

const gitlab: Samples = {
  told: [
    one(
      'a push',
      {
        object_kind: 'push',
        event_name: 'push',
        before: '95790bf891e76fee5e1747ab589903a6a1f80f22',
        after: sha,
        ref: 'refs/heads/main',
        user_name: 'Ada',
        user_username: 'ada',
        project,
        commits: [{ id: sha, message: 'Fix cart\n\nlong', author: { name: 'Ada', email: 'a@example.com' } }],
        total_commits_count: 1,
      },
      { 'x-gitlab-event': 'Push Hook' },
    ),
    one('a branch that is gone', {
      object_kind: 'push',
      before: sha,
      after: '0'.repeat(40),
      ref: 'refs/heads/old',
      user_name: 'Ada',
      project,
      commits: [],
      total_commits_count: 0,
    }),
    one('a tag', {
      object_kind: 'tag_push',
      before: '0'.repeat(40),
      after: sha,
      ref: 'refs/tags/v1',
      user_name: 'Ada',
      project,
      commits: [],
    }),
    one('an issue', {
      object_kind: 'issue',
      event_type: 'issue',
      user: gitUser,
      project,
      object_attributes: {
        id: 3,
        iid: 7,
        title: 'Cart is empty',
        description: 'Steps',
        url: `${project.web_url}/-/issues/7`,
        action: 'open',
        state: 'opened',
      },
      assignees: [gitUser],
      labels: [],
    }),
    one('a merge request', {
      object_kind: 'merge_request',
      user: gitUser,
      project,
      object_attributes: {
        id: 3,
        iid: 9,
        title: 'Fix cart',
        description: 'Closes #7',
        url: `${project.web_url}/-/merge_requests/9`,
        action: 'merge',
        source_branch: 'fix',
        target_branch: 'main',
      },
    }),
    one('a remark', {
      object_kind: 'note',
      user: gitUser,
      project,
      object_attributes: {
        id: 1,
        note: 'Why?',
        noteable_type: 'MergeRequest',
        url: `${project.web_url}/-/merge_requests/9#note_1`,
        system: false,
      },
      merge_request: { iid: 9, title: 'Fix cart' },
    }),
    one('a pipeline', {
      object_kind: 'pipeline',
      user: gitUser,
      project,
      object_attributes: { id: 31, ref: 'main', status: 'failed', url: `${project.web_url}/-/pipelines/31` },
      builds: [
        { name: 'test', stage: 'test', status: 'failed' },
        { name: 'lint', stage: 'test', status: 'success' },
      ],
      merge_request: null,
    }),
    one('a job', {
      object_kind: 'build',
      ref: 'main',
      build_id: 5,
      build_name: 'test',
      build_stage: 'test',
      build_status: 'failed',
      build_failure_reason: 'script_failure',
      environment: { name: 'production', action: 'start' },
      user: gitUser,
      project,
      commit: { id: 31, message: 'x' },
    }),
    one('a deployment', {
      object_kind: 'deployment',
      status: 'success',
      environment: 'production',
      ref: 'main',
      deployable_url: `${project.web_url}/-/jobs/5`,
      user: gitUser,
      project,
    }),
    one('a release', {
      object_kind: 'release',
      action: 'create',
      name: 'v1.0',
      tag: 'v1.0',
      description: 'First',
      url: `${project.web_url}/-/releases/v1.0`,
      project,
    }),
    one('something else', {
      object_kind: 'feature_flag',
      user: gitUser,
      project,
      object_attributes: { id: 6, name: 'flag', active: true },
    }),
    one('a system hook', { event_name: 'user_create', name: 'Ada', username: 'ada' }),
  ],
  silent: [
    one('an issue with another label', {
      object_kind: 'issue',
      user: gitUser,
      project,
      object_attributes: { iid: 7, action: 'update' },
    }),
    one('a pipeline that runs', {
      object_kind: 'pipeline',
      user: gitUser,
      project,
      object_attributes: { id: 31, status: 'running' },
    }),
    one('a job that went well', { object_kind: 'build', build_status: 'success', project }),
    one('a remark of GitLab itself', {
      object_kind: 'note',
      user: gitUser,
      project,
      object_attributes: { note: 'changed the milestone', system: true },
      issue: { iid: 7 },
    }),
    one('an emoji', { object_kind: 'emoji', user: gitUser, project }),
  ],
  wrong: [
    one('nothing', {}),
    one('a project that is a text', { object_kind: 'push', project: 'shop' }),
    one('commits that are none', { object_kind: 'push', commits: {} }),
    one('a commit that is a text', { object_kind: 'push', commits: [sha] }),
    one('attributes that are a list', { object_kind: 'issue', object_attributes: [] }),
    one('a number that is a text', { object_kind: 'issue', object_attributes: { iid: '7' } }),
  ],
}

const homeAssistant: Samples = {
  told: [
    one('a message', { message: 'The front door has been open for 10 minutes.', title: 'Front door' }),
    one('a change', {
      entity_id: 'binary_sensor.door',
      friendly_name: 'Front door',
      from: 'off',
      to: 'on',
      area: 'Hall',
    }),
    one('a state', { entity_id: 'sensor.power', state: 3100, message: 'Too much power' }),
  ],
  silent: [],
  wrong: [
    one('nothing', {}),
    one('blanks', { message: '  ' }),
    one('a message that is a number', { message: 5 }),
    one('a message that is an object', { message: { text: 'x' } }),
    one('a state that is a list', { entity_id: 'a.b', state: [] }),
    one('an entity that is a list', { entity_id: ['a.b'] }),
  ],
}

const mail = {
  id: 'm1',
  threadId: 't1',
  from: 'Ada <ada@example.com>',
  to: 'me@example.com',
  subject: 'Lunch?',
  date: 'Thu, 31 Jan 2030 09:00:00 +0000',
  snippet: 'Are you',
  body: 'Are you hungry?\n',
  labels: ['INBOX'],
}
const pushed = (value: unknown, more: object = {}) => ({
  message: {
    data: Buffer.from(JSON.stringify(value)).toString('base64'),
    messageId: '2070443601311540',
    message_id: '2070443601311540',
    publishTime: 't',
    ...more,
  },
  subscription: 'projects/p/subscriptions/s',
})

const gmail: Samples = {
  told: [
    one('a mail', { source: 'gmail', account: 'me@example.com', messages: [mail] }),
    one('two mails, one with little', { messages: [mail, { from: 'bob@example.com', snippet: 'Hi' }] }),
    one('a mailbox that has changed', pushed({ emailAddress: 'me@example.com', historyId: 9876 })),
  ],
  silent: [one('no mails', { messages: [] })],
  wrong: [
    one('nothing', {}),
    one('mails that are none', { messages: 'x' }),
    one('a mail that is a text', { messages: ['x'] }),
    one('too many mails', { messages: Array.from({ length: 201 }, () => mail) }),
    one('data that is not base64 of JSON', { message: { data: 'hello' } }),
    one('data of somebody else', pushed({ hello: 1 })),
    one('data that is null', pushed(null)),
  ],
}

const github: Samples = {
  told: [],
  silent: [],
  wrong: [
    one('no event', { action: 'opened' }),
    one('a form', { payload: '{"action":"opened"}' }, { 'x-github-event': 'issues' }),
    one('a repository that is a text', { repository: 'octo/repo' }, { 'x-github-event': 'issues' }),
    one('an issue that is a list', { issue: [] }, { 'x-github-event': 'issues' }),
    one('a number that is a text', { issue: { number: '1' } }, { 'x-github-event': 'issues' }),
    one('commits that are texts', { commits: ['x'] }, { 'x-github-event': 'push' }),
  ],
}

export const payloads: Readonly<Record<string, Samples>> = {
  alertmanager,
  github,
  gitlab,
  gmail,
  grafana,
  linear,
  pagerduty,
  sentry,
  slack,
  stripe,
  'home-assistant': homeAssistant,
  'standard-webhooks': standardWebhooks,
}
