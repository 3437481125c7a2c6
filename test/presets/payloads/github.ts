// Payloads of GitHub, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

const page = 'https://github.com/octo/repo'
const ada = { login: 'ada', type: 'User' }

const event = (name: string, payload: object, which = '') =>
  one(
    [name, (payload as { action?: string }).action, which].filter(Boolean).join(' '),
    { sender: ada, repository: { full_name: 'octo/repo', html_url: page }, ...payload },
    { 'x-github-event': name, 'x-github-delivery': 'd' },
  )

const issue = { number: 7, title: 'Cart is empty', body: 'Steps', html_url: `${page}/issues/7` }
const pull = {
  number: 9,
  title: 'Fix cart',
  body: 'Closes #7',
  html_url: `${page}/pull/9`,
  merged: false,
  draft: false,
  additions: 5,
  deletions: 1,
  head: { ref: 'fix' },
  base: { ref: 'main' },
}
const run = {
  name: 'CI',
  conclusion: 'failure',
  html_url: `${page}/actions/runs/5`,
  head_branch: 'main',
  head_sha: 'b'.repeat(40),
  pull_requests: [],
}
const secret = {
  number: 42,
  html_url: `${page}/security/secret-scanning/42`,
  secret_type: 'adafruit_io_key',
  secret_type_display_name: 'Adafruit IO Key',
  resolution: null,
}
const advisory = {
  ghsa_id: 'GHSA-aaaa-bbbb-cccc',
  severity: 'high',
  summary: 'The cart runs code',
  html_url: `${page}/security/advisories/GHSA-aaaa-bbbb-cccc`,
}

export const github: Samples = {
  told: [
    event('issues', {
      action: 'transferred',
      issue,
      changes: {
        new_issue: { number: 3, title: 'Cart is empty', html_url: 'https://github.com/octo/shop/issues/3' },
        new_repository: { full_name: 'octo/shop', html_url: 'https://github.com/octo/shop' },
      },
    }),
    event('issues', { action: 'transferred', issue, changes: null }, 'without its target'),
    event(
      'issues',
      {
        action: 'opened',
        issue,
        changes: { old_issue: { number: 3 }, old_repository: { full_name: 'octo/shop', html_url: page } },
      },
      'after a transfer',
    ),
    event('issues', { action: 'opened', issue: { ...issue, number: '7', title: 5 }, changes: [] }, 'of other types'),
    event('push', { ref: 'refs/heads/main', commits: ['x', { id: 3, message: ['a', 'b'] }] }, 'of other types'),
    event(
      'push',
      {
        ref: 'refs/heads/main',
        before: 'a'.repeat(40),
        after: 'b'.repeat(40),
        created: false,
        deleted: false,
        forced: true,
        compare: 'https://github.com/octo/repo/compare/aaaaaaa...bbbbbbb',
        commits: [],
        pusher: { name: 'ada' },
      },
      'that only removes commits',
    ),
    event(
      'push',
      {
        ref: 'refs/tags/v1',
        before: 'a'.repeat(40),
        after: 'b'.repeat(40),
        created: false,
        deleted: false,
        forced: true,
        commits: [],
      },
      'that moves a tag',
    ),
    event(
      'push',
      {
        ref: 'refs/heads/main',
        before: 'a'.repeat(40),
        after: 'b'.repeat(40),
        created: false,
        deleted: false,
        forced: true,
        compare: 'https://github.com/octo/repo/compare/aaaaaaa...bbbbbbb',
        commits: Array.from({ length: 12 }, (_, index) => ({
          id: `${index}`.padStart(40, 'c'),
          message: `Commit ${index}\n\nMore about it`,
          author: { name: 'Ada', username: 'ada' },
        })),
      },
      'of many commits',
    ),
    event('secret_scanning_alert', { action: 'created', alert: secret }),
    event(
      'secret_scanning_alert',
      { action: 'publicly_leaked', alert: { ...secret, secret_type_display_name: undefined } },
      'without a display name',
    ),
    event('secret_scanning_alert', { action: 'resolved', alert: { ...secret, resolution: 'false_positive' } }),
    event('secret_scanning_alert_location', {
      action: 'created',
      alert: secret,
      location: { type: 'commit', details: {} },
    }),
    event('code_scanning_alert', {
      action: 'appeared_in_branch',
      ref: 'refs/heads/main',
      alert: {
        number: 5,
        html_url: `${page}/security/code-scanning/5`,
        rule: { id: 'js/xss', severity: 'error', description: 'Cross-site scripting' },
      },
    }),
    event('repository_advisory', { action: 'reported', repository_advisory: advisory }),
    event('security_advisory', { action: 'published', security_advisory: advisory, repository: undefined }),
    event(
      'pull_request',
      { action: 'review_requested', pull_request: pull, requested_team: { name: 'Reviewers', slug: 'reviewers' } },
      'to a team',
    ),
    event('pull_request', { action: 'closed', pull_request: { ...pull, merged: true } }),
    event('pull_request_review', {
      action: 'submitted',
      pull_request: pull,
      review: { state: 'changes_requested', body: 'Please test it', html_url: `${page}/pull/9#r1`, user: ada },
    }),
    event(
      'pull_request_review',
      {
        action: 'submitted',
        pull_request: pull,
        review: { state: 'approved', body: null, html_url: `${page}/pull/9#r2`, user: ada },
      },
      'that approves',
    ),
    event('issues', { action: 'closed', issue }),
    event('issues', { action: 'assigned', issue, assignee: { login: 'grace' } }),
    event('issue_comment', {
      action: 'created',
      issue,
      comment: { body: 'Why?', html_url: `${page}/issues/7#c1`, user: ada },
    }),
    event('sub_issues', {
      action: 'sub_issue_added',
      sub_issue: issue,
      parent_issue: { ...issue, number: 1, title: 'All of it' },
    }),
    event('issue_dependencies', {
      action: 'blocked_by_added',
      blocked_issue: issue,
      blocking_issue: { ...issue, number: 2, title: 'First' },
    }),
    event('workflow_run', {
      action: 'completed',
      workflow: { name: 'CI', path: '.github/workflows/ci.yml' },
      workflow_run: run,
    }),
    event(
      'workflow_run',
      {
        action: 'completed',
        workflow: null,
        workflow_run: { ...run, name: null, path: '.github/workflows/ci.yml', head_branch: null },
      },
      'without a name',
    ),
    event('check_run', {
      action: 'completed',
      check_run: { ...run, name: 'lint', app: { slug: 'other-ci' }, output: { title: '2 errors', summary: 'Line 5' } },
    }),
    event('status', {
      state: 'failure',
      context: 'ci/build',
      sha: 'b'.repeat(40),
      description: 'It failed',
      target_url: 'https://ci.example.com/1',
    }),
    event('deployment_status', {
      action: 'created',
      deployment: { ref: 'main', environment: 'production' },
      deployment_status: {
        state: 'failure',
        description: 'No space',
        target_url: '',
        log_url: 'https://ci.example.com/2',
      },
    }),
    event('deployment_review', {
      action: 'requested',
      environment: 'production',
      requestor: { login: 'grace' },
      reviewers: [
        { type: 'User', reviewer: { login: 'ada' } },
        { type: 'Team', reviewer: { name: 'Operators' } },
      ],
      workflow_run: run,
    }),
    event('deployment_review', {
      action: 'approved',
      approver: ada,
      comment: 'Go ahead',
      reviewers: [],
      workflow_run: run,
      workflow_job_run: { environment: 'production', html_url: `${page}/actions/runs/5/jobs/1` },
    }),
    event('page_build', { build: { status: 'errored', error: { message: 'The page could not be built.' } } }),
    event(
      'organization',
      {
        action: 'member_invited',
        invitation: { login: null, email: 'grace@example.com' },
        organization: { login: 'octo' },
        repository: undefined,
      },
      'by email',
    ),
    event('organization', {
      action: 'member_removed',
      membership: { user: { login: 'grace' } },
      organization: { login: 'octo' },
      repository: undefined,
    }),
    event('installation', {
      action: 'created',
      installation: { account: { login: 'octo' }, app_slug: 'helper' },
      repositories: Array.from({ length: 12 }, (_, index) => ({ full_name: `octo/repo-${index}` })),
      repository: undefined,
    }),
    event('installation_repositories', {
      action: 'added',
      installation: { account: { login: 'octo' }, app_slug: 'helper' },
      repositories_added: [{ full_name: 'octo/repo' }],
      repositories_removed: [],
      repository: undefined,
    }),
    event('integration_installation', {
      action: 'created',
      installation: { account: { login: 'octo' }, app_slug: 'helper' },
      repositories: [{ full_name: 'octo/repo' }],
      repository: undefined,
    }),
    event('integration_installation_repositories', {
      action: 'removed',
      installation: { account: { login: 'octo' }, app_slug: 'helper' },
      repositories_removed: [{ full_name: 'octo/repo' }],
      repository: undefined,
    }),
    event('custom_property_values', {
      action: 'updated',
      old_property_values: [{ property_name: 'tier', value: '2' }],
      new_property_values: [{ property_name: 'tier', value: '1' }],
    }),
    event('personal_access_token_request', {
      action: 'created',
      personal_access_token_request: { owner: { login: 'grace' }, token_name: 'laptop' },
      organization: { login: 'octo' },
      repository: undefined,
    }),
    event('repository_ruleset', { action: 'created', repository_ruleset: { name: 'main is protected' } }),
    event('custom_property', {
      action: 'created',
      definition: { property_name: 'tier' },
      organization: { login: 'octo' },
      repository: undefined,
    }),
    event('registry_package', {
      action: 'published',
      registry_package: { name: 'cart', html_url: `${page}/packages/1` },
    }),
    event('security_and_analysis', { changes: { from: { security_and_analysis: {} } } }),
    event('an_event_of_the_future', { action: 'started' }),
  ],
  silent: [
    event(
      'push',
      { ref: 'refs/heads/new', created: true, deleted: false, forced: true, commits: [] },
      'of a new branch',
    ),
    event(
      'push',
      { ref: 'refs/heads/old', created: false, deleted: true, forced: true, commits: [] },
      'that deletes a branch',
    ),
    event('workflow_dispatch', { ref: 'refs/heads/main', workflow: '.github/workflows/ci.yml' }),
    event('secret_scanning_scan', { action: 'completed', type: 'backfill' }),
  ],
  wrong: [
    one('no event', { action: 'opened' }),
    one('a form', { payload: '{"action":"opened"}' }, { 'x-github-event': 'issues' }),
    one('a list', [], { 'x-github-event': 'issues' }),
    one('a text', 'opened', { 'x-github-event': 'issues' }),
  ],
}
