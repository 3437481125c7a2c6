// What the messages say of payloads that are easy to misread: units, several names, who did what, and what changed.
import { describe, expect, it } from 'vitest'
import { loadPresets } from './deliver.ts'
import { alert, group } from './payloads/alertmanager.ts'

const presets = await loadPresets()

interface Case {
  what: string
  preset: string
  payload: object
  headers?: Record<string, string>
  /** Lines of the message. */
  lines?: readonly string[]
  /** What the message must not contain. */
  without?: RegExp
  session?: string
}

function actionOf({ preset, payload, headers }: Pick<Case, 'preset' | 'payload' | 'headers'>) {
  const judged = presets.get(preset)!.judge(payload, headers)
  if (!Array.isArray(judged)) throw new Error(`not an action: ${JSON.stringify(judged)}`)
  return { message: judged[0]?.message ?? '', session: judged[0]?.sessionKey }
}

const stripe = (type: string, object: object, previous_attributes?: object) => ({
  id: 'evt_1',
  type,
  livemode: true,
  data: { object, previous_attributes },
})
const github = (event: string, payload: object) => ({
  preset: 'github',
  headers: { 'x-github-event': event },
  payload: { sender: { login: 'ada' }, repository: { full_name: 'octo/repo' }, ...payload },
})
const linear = (payload: object) => ({ preset: 'linear', payload: { webhookTimestamp: 1_900_000_000_000, ...payload } })

const amounts: readonly Case[] = [
  {
    what: 'an amount in the currency of the merchant',
    preset: 'stripe',
    payload: stripe('issuing_transaction.created', {
      object: 'issuing.transaction',
      amount: -1000,
      currency: 'usd',
      merchant_amount: -1500,
      merchant_currency: 'jpy',
    }),
    lines: ['Stripe: issuing transaction created, -10.00 USD', 'Merchant amount: -1500 JPY'],
  },
  {
    what: 'the amount of a request that is not approved',
    preset: 'stripe',
    payload: stripe('issuing_authorization.request', {
      object: 'issuing.authorization',
      amount: 0,
      currency: 'usd',
      pending_request: { amount: 700, currency: 'usd', merchant_amount: 600, merchant_currency: 'eur' },
    }),
    lines: ['Stripe: issuing authorization request, 7.00 USD', 'Pending request merchant amount: 6.00 EUR'],
  },
  {
    what: 'the number of entries of a list',
    preset: 'stripe',
    payload: stripe('review.opened', { object: 'review', currency: 'usd', list: { total_count: 300 } }),
    lines: ['List total count: 300'],
    without: /3\.00/,
  },
  {
    what: 'bitcoins in satoshi',
    preset: 'stripe',
    payload: stripe('bitcoin.receiver.created', {
      object: 'bitcoin_receiver',
      amount: 100,
      bitcoin_amount: 1_757_908,
      currency: 'usd',
    }),
    lines: ['Stripe: bitcoin receiver created, 1.00 USD', 'Bitcoin amount: 1757908'],
  },
  {
    what: 'an object of the future',
    preset: 'stripe',
    payload: stripe('wallet.updated', { object: 'wallet', amount: 250, balance: 9, currency: 'usd' }, { amount: 240 }),
    lines: [
      'Stripe: wallet updated',
      'Changed: amount (was 240)',
      'Amount: 250',
      'Currency: usd',
      'Numbers are as Stripe sent them: an amount may be in the smallest unit.',
    ],
  },
  {
    what: 'a credit grant',
    preset: 'stripe',
    payload: stripe('billing.credit_grant.created', {
      object: 'billing.credit_grant',
      amount: { monetary: { currency: 'usd', value: 1000 }, type: 'monetary' },
    }),
    lines: ['Stripe: billing credit grant created, 10.00 USD'],
  },
  {
    what: 'a SKU',
    preset: 'stripe',
    payload: stripe('sku.created', { object: 'sku', price: 1500, currency: 'usd' }),
    lines: ['Stripe: sku created, 15.00 USD'],
  },
  {
    what: 'a balance by currency',
    preset: 'stripe',
    payload: stripe('cash_balance.funds_available', { object: 'cash_balance', available: { jpy: 500, usd: 500 } }),
    lines: ['Available jpy: 500 JPY', 'Available usd: 5.00 USD'],
  },
  {
    what: 'an object within the object',
    preset: 'stripe',
    payload: stripe('thing.created', {
      object: 'thing',
      price: { object: 'price', unit_amount: 2000, currency: 'eur' },
    }),
    lines: ['Price unit amount: 20.00 EUR'],
  },
  {
    what: 'an amount that changed with its currency',
    preset: 'stripe',
    payload: stripe(
      'topup.updated',
      { object: 'topup', amount: 500, currency: 'usd' },
      { amount: 400, currency: 'jpy' },
    ),
    lines: ['Changed: amount (was 400 JPY), currency (was "jpy")'],
  },
]

const changes: readonly Case[] = [
  {
    what: 'another permission of a collaborator',
    ...github('member', {
      action: 'edited',
      member: { login: 'grace' },
      changes: { permission: { from: 'write', to: 'admin' } },
    }),
    lines: ['- permission: "write" → "admin"'],
  },
  {
    what: 'somebody who accepted an invitation',
    ...github('member', {
      action: 'added',
      sender: { login: 'grace' },
      member: { login: 'grace' },
      changes: { permission: { to: 'write' } },
    }),
    lines: ['GitHub: grace is now a collaborator in octo/repo', '- permission: now "write"'],
  },
  {
    what: 'a team with other permissions',
    ...github('team', {
      action: 'edited',
      team: { name: 'Operators', description: 'They operate' },
      repository: { full_name: 'octo/repo', permissions: { admin: true, push: true } },
      changes: {
        description: { from: '' },
        repository: { permissions: { from: { admin: false, push: true } } },
      },
    }),
    lines: [
      '- description: none → "They operate"',
      '- repository permissions: admin no, push yes → admin yes, push yes',
    ],
  },
  {
    what: 'another default branch',
    ...github('repository', {
      action: 'edited',
      repository: { full_name: 'octo/repo', default_branch: 'trunk' },
      changes: { default_branch: { from: 'main' } },
    }),
    lines: ['- default branch: "main" → "trunk"'],
  },
  {
    what: 'a rule of a branch',
    ...github('branch_protection_rule', {
      action: 'edited',
      rule: { name: 'main', required_approving_review_count: 1 },
      changes: { required_approving_review_count: { from: 2 } },
    }),
    lines: [
      'GitHub: ada edited branch protection rule "main" in octo/repo',
      '- required approving review count: 2 → 1',
    ],
  },
  {
    what: 'security that was turned off',
    ...github('security_and_analysis', {
      repository: { full_name: 'octo/repo', security_and_analysis: { secret_scanning: { status: 'disabled' } } },
      changes: { from: { security_and_analysis: { secret_scanning: { status: 'enabled' } } } },
    }),
    lines: ['- secret scanning: enabled → disabled'],
  },
  {
    what: 'a title in Linear',
    ...linear({
      action: 'update',
      type: 'Issue',
      data: { id: 'i1', identifier: 'ENG-1', title: 'New', priority: 1, priorityLabel: 'Urgent' },
      updatedFrom: { title: 'Old', priority: 2 },
    }),
    lines: ['Changed: title (was "Old"), priority (was "High")'],
  },
]

const jira = (more: object) => ({
  preset: 'jira',
  payload: {
    webhookEvent: 'jira:issue_updated',
    user: { displayName: 'Ada' },
    issue: { id: '7', key: 'ENG-7', fields: { summary: 'Broken', assignee: { displayName: 'Grace' } } },
    ...more,
  },
})

const codeAlert = (more: object) => ({
  number: 5,
  rule: { id: 'js/xss', severity: 'warning', security_severity_level: 'critical', description: 'XSS' },
  tool: { name: 'CodeQL' },
  most_recent_instance: { ref: 'refs/pull/7/merge', location: { path: 'src/a.ts', start_line: 12 } },
  ...more,
})

const facts: readonly Case[] = [
  {
    what: 'a code scanning alert of a pull request',
    ...github('code_scanning_alert', { action: 'created', ref: 'refs/pull/7/merge', alert: codeAlert({}) }),
    lines: [
      'GitHub: The code scanning alert #5 (critical) "XSS" was created in octo/repo',
      'At: src/a.ts:12',
      'Pull request: #7',
      'Found by: CodeQL',
    ],
    session: 'hook:github:octo/repo#7',
  },
  {
    what: 'a code scanning alert that somebody dismissed',
    ...github('code_scanning_alert', {
      action: 'closed_by_user',
      ref: '',
      alert: codeAlert({
        most_recent_instance: { ref: 'refs/heads/main' },
        dismissed_by: { login: 'ada' },
        dismissed_reason: "won't fix",
        dismissed_comment: 'Only in tests',
      }),
    }),
    lines: [
      'GitHub: ada dismissed the code scanning alert #5 (critical) "XSS" in octo/repo',
      "Reason: won't fix, Only in tests",
      'Dismissed by: ada',
    ],
  },
  {
    what: 'an alert that another one than the sender dismissed',
    ...github('repository_vulnerability_alert', {
      action: 'dismiss',
      sender: { login: 'github' },
      alert: { affected_package_name: 'cart', dismisser: { login: 'ada' }, dismiss_reason: 'No bandwidth' },
    }),
    lines: ['GitHub: ada dismissed the vulnerability alert for cart in octo/repo', 'Reason: No bandwidth'],
  },
  {
    what: 'an alert that nobody resolved by hand',
    ...github('repository_vulnerability_alert', {
      action: 'resolve',
      sender: { login: 'github' },
      alert: { affected_package_name: 'cart' },
    }),
    lines: ['GitHub: The vulnerability alert for cart was resolved in octo/repo'],
  },
  {
    what: 'a review whose state is in capitals',
    ...github('pull_request_review', {
      action: 'submitted',
      pull_request: { number: 9, title: 'Fix' },
      review: { state: 'APPROVED', body: null },
    }),
    lines: ['GitHub: ada approved pull request #9 "Fix" in octo/repo'],
  },
  {
    what: 'a key that somebody else may have removed',
    preset: 'gitlab',
    payload: { event_name: 'key_destroy', username: 'root', id: 4 },
    lines: ['GitLab: An SSH key of user root was removed'],
  },
  {
    what: 'a membership with another end',
    preset: 'gitlab',
    payload: {
      event_name: 'user_update_for_group',
      user_name: 'Ada',
      group_path: 'octo',
      group_access: 'Guest',
      expires_at: '2030-01-31T00:00:00Z',
    },
    lines: ['GitLab: Ada has a changed membership of group octo', 'Role: Guest', 'Until: 2030-01-31'],
  },
  {
    what: 'an assignment without a log of changes',
    ...jira({ issue_event_type_name: 'issue_assigned', changelog: { items: [] } }),
    lines: ['Jira: Ada changed ENG-7 "Broken"', '- assignee: Grace'],
  },
  {
    what: 'the user whom an administrator deleted',
    ...github('user', { action: 'deleted', user: { login: 'grace' }, repository: undefined }),
    lines: ['GitHub: ada deleted user "grace"'],
  },
  {
    what: 'an issue of Gogs without a sender',
    preset: 'gitea',
    headers: { 'x-gogs-event': 'issues' },
    payload: {
      action: 'opened',
      issue: { number: 1, title: 'Broken', user: { username: 'ada' } },
      repository: { full_name: 'octo/repo' },
    },
    lines: ['Gitea: ada opened issue #1 "Broken" in octo/repo'],
  },
  {
    what: 'a push without a list of commits',
    preset: 'bitbucket',
    headers: { 'x-event-key': 'repo:push' },
    payload: {
      actor: { display_name: 'Ada' },
      repository: { full_name: 'octo/repo' },
      push: {
        changes: [
          {
            new: { type: 'branch', name: 'main', target: { hash: 'b'.repeat(40), message: 'Fix\n\nMore' } },
            old: { type: 'branch', name: 'main', target: { hash: 'a'.repeat(40) } },
          },
        ],
      },
    },
    lines: ['Bitbucket: Ada pushed to main in octo/repo', 'Now at: bbbbbbb Fix', 'Before: aaaaaaa'],
  },
]

const sessions: readonly Case[] = [
  {
    what: 'an old repository of GitHub',
    ...github('issues', {
      action: 'opened',
      issue: { number: 3, title: 'Broken' },
      repository: { name: 'repo', owner: { name: 'octo' } },
    }),
    session: 'hook:github:octo/repo#3',
  },
  {
    what: 'an old repository of Gogs',
    preset: 'gitea',
    headers: { 'x-gogs-event': 'push' },
    payload: {
      ref: 'refs/heads/main',
      commits: [{ id: 'c', message: 'Fix' }],
      pusher: { login: 'ada' },
      repository: { name: 'repo', owner: { username: 'octo' }, url: 'http://git.example.com/octo/repo' },
    },
    lines: ['Gitea: ada pushed 1 commit to main in octo/repo', 'http://git.example.com/octo/repo'],
    session: 'hook:gitea:octo/repo',
  },
  {
    what: 'a repository of which only the address is known',
    preset: 'gitea',
    headers: { 'x-gogs-event': 'create' },
    payload: { ref: 'v1', ref_type: 'tag', repository: { html_url: 'http://git.example.com/octo/repo' } },
    session: 'hook:gitea:octo/repo',
  },
  {
    what: 'an app that somebody else installed',
    ...github('installation', {
      action: 'created',
      installation: { account: { login: 'octo' }, app_slug: 'helper' },
      repository: undefined,
    }),
    session: 'hook:github:octo',
  },
  {
    what: 'a notification for the agent',
    ...linear({
      type: 'AppUserNotification',
      action: 'issueCommentMention',
      notification: {
        id: 'n1',
        actor: { name: 'Ada' },
        issue: { id: 'i1', identifier: 'ENG-1', title: 'Broken' },
        comment: { body: '@helper please look' },
      },
    }),
    lines: ['Linear: Ada mentioned you in a comment on issue ENG-1 "Broken"', '@helper please look'],
    session: 'hook:linear:i1',
  },
  {
    what: 'a session with the agent',
    ...linear({
      type: 'AgentSessionEvent',
      action: 'prompted',
      agentSession: { id: 's1', issue: { id: 'i1', identifier: 'ENG-1', title: 'Broken' } },
      agentActivity: { content: { type: 'prompt', body: 'Try again' }, user: { name: 'Ada' } },
    }),
    lines: ['Linear: Ada wrote to you in a session on issue ENG-1 "Broken"', 'Try again'],
    session: 'hook:linear:i1',
  },
]

const tables = { 'names the unit': amounts, 'says what changed': changes, 'says what is known': facts }

for (const [title, cases] of [...Object.entries(tables), ['uses the session of', sessions] as const])
  describe(`a message ${title}`, () => {
    it.each(cases)('$preset: $what', ({ lines = [], without, session, ...rest }) => {
      const action = actionOf(rest)
      expect(action.message.split('\n')).toEqual(expect.arrayContaining([...lines]))
      if (without) expect(action.message).not.toMatch(without)
      if (session) expect(action.session).toBe(session)
    })
  })

describe.each(['alertmanager', 'grafana'])('a group of alerts of %s', (preset) => {
  const alerts = ['DiskFull', 'HighLoad', 'NoSwap', 'Hot'].map((alertname) => alert({ labels: { alertname } }))
  const mixed = (shown: object[], more: object = {}) =>
    actionOf({
      preset,
      payload: group({
        groupKey: '{}:{cluster="a"}',
        groupLabels: { cluster: 'a' },
        commonLabels: {},
        alerts: shown,
        ...more,
      }),
    })

  it('has one session, whatever the names of its alerts are', () => {
    const one = mixed(alerts.slice(0, 1), { commonLabels: { alertname: 'DiskFull' } })
    expect([one, mixed(alerts.slice(1, 2)), mixed(alerts)].map(({ session }) => session)).toEqual(
      Array(3).fill(`hook:${preset}:{}:{cluster="a"}`),
    )
    const other = mixed(alerts, { groupKey: '{}:{cluster="b"}' })
    expect(other.session).toBe(`hook:${preset}:{}:{cluster="b"}`)
  })

  it('keeps two long keys apart', () => {
    const [one, other] = ['1', '2'].map((end) => mixed(alerts, { groupKey: `{}:{${'x'.repeat(400)}${end}}` }))
    expect(one!.session).not.toBe(other!.session)
  })

  it('says that alerts were left out, and how many', () => {
    const { message } = mixed(alerts.slice(0, 2), { truncatedAlerts: 3 })
    expect(message.split('\n')).toContain('… and 3 more alerts, which the service left out')
  })
})

describe('the first line about alerts of Alertmanager', () => {
  it.each([
    [1, 0, 'Alertmanager: A, 1 firing'],
    [2, 0, 'Alertmanager: A and B, 2 firing'],
    [2, 3, 'Alertmanager: A and B, 2 firing, and 3 more that were not sent'],
    [3, 0, 'Alertmanager: A, B and 1 other, 3 firing'],
  ])('names the kinds of %i alerts, and counts %i that were not sent', (count, truncatedAlerts, expected) => {
    const alerts = ['A', 'B', 'C'].slice(0, count).map((alertname) => alert({ labels: { alertname } }))
    const payload = group({ groupLabels: {}, commonLabels: {}, alerts, truncatedAlerts })
    expect(actionOf({ preset: 'alertmanager', payload }).message.split('\n', 1)).toEqual([expected])
  })
})

describe('an edited comment of Jira', () => {
  it('is not reported as new by versions that do not name the change', () => {
    const { judge } = presets.get('jira')!
    const edited = (updated: string) => jira({ comment: { body: 'Why?', created: '09:00', updated } }).payload
    expect(judge(edited('09:00'))).not.toBe('skipped')
    expect(judge(edited('09:03'))).toBe('skipped')
  })
})

describe('an edited comment of GitLab', () => {
  const note = (more: object) => ({
    object_kind: 'note',
    user: { name: 'Ada', username: 'ada' },
    project: { path_with_namespace: 'octo/repo' },
    object_attributes: { id: 5, note: 'Hi', noteable_type: 'Issue', ...more },
    issue: { iid: 7, title: 'Broken' },
  })

  it.each([{ action: 'update' }, { updated_by_id: 3 }, { last_edited_at: '2030-01-31 09:00:00 UTC' }])(
    'is not reported as new: %o',
    (more) => {
      expect(presets.get('gitlab')!.judge(note(more))).toBe('skipped')
      expect(presets.get('gitlab')!.judge(note({}))).not.toBe('skipped')
    },
  )
})
