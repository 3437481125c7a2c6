// Payloads of Jira, after the documentation of its webhooks.
import { one, type Samples } from '../sample.ts'

const site = 'https://example.atlassian.net'
const ada = { accountId: 'a1', accountType: 'atlassian', displayName: 'Ada Lovelace', active: true }
const issue = {
  id: '10042',
  self: `${site}/rest/api/2/issue/10042`,
  key: 'SHOP-7',
  fields: {
    summary: 'The basket loses items',
    description: 'Steps:\n1. Add two items',
    issuetype: { name: 'Bug', subtask: false },
    status: { name: 'To Do' },
    priority: { name: 'High' },
    assignee: { displayName: 'Grace Hopper' },
    project: { id: '1', key: 'SHOP', name: 'Shop' },
    duedate: '2030-02-01',
    labels: [],
    customfield_10010: null,
  },
}
const comment = {
  id: '12001',
  self: `${site}/rest/api/2/issue/10042/comment/12001`,
  author: ada,
  body: 'It happens on phones only.',
}
const event = (webhookEvent: string, more: object = {}) => ({
  timestamp: 1_900_000_000_000,
  webhookEvent,
  user: ada,
  issue,
  ...more,
})
const changed = (...items: object[]) =>
  event('jira:issue_updated', {
    issue_event_type_name: 'issue_generic',
    changelog: { id: '1', items: items },
  })
const sprint = {
  id: 4,
  self: `${site}/rest/agile/1.0/sprint/4`,
  state: 'active',
  name: 'Sprint 4',
  goal: 'A safe basket',
}
const text = (words: string) => ({ type: 'text', text: words })
const paragraph = (...content: object[]) => ({ type: 'paragraph', content })
const item = (...content: object[]) => ({ type: 'listItem', content })
/** A document in the Atlassian Document Format. */
const document = {
  version: 1,
  type: 'doc',
  content: [
    { type: 'heading', attrs: { level: 2 }, content: [text('Steps')] },
    paragraph(
      text('Ask '),
      { type: 'mention', attrs: { id: 'a2', text: '@Grace' } },
      text(' first'),
      { type: 'hardBreak' },
      {
        type: 'inlineCard',
        attrs: { url: 'https://example.com/log' },
      },
    ),
    { type: 'orderedList', content: [item(paragraph(text('Add two items'))), item(paragraph(text('Reload')))] },
    { type: 'bulletList', content: [item(paragraph(text('on phones')))] },
    { type: 'codeBlock', content: [text('a = 1\nb = 2')] },
    { type: 'mediaSingle', content: [{ type: 'media', attrs: { type: 'file', alt: 'screen.png' } }] },
    {
      type: 'table',
      content: [
        {
          type: 'tableRow',
          content: ['x', 'y'].map((cell) => ({ type: 'tableCell', content: [paragraph(text(cell))] })),
        },
      ],
    },
    paragraph(
      { type: 'date', attrs: { timestamp: '1900000000000' } },
      { type: 'emoji', attrs: { shortName: ':smile:' } },
    ),
    { type: 'unknown', content: [paragraph(text('The end.'))] },
  ],
}
const version = { id: '9', self: `${site}/rest/api/2/version/9`, name: '2.1', description: 'Baskets', released: true }

export const jira: Samples = {
  told: [
    one('a new issue', event('jira:issue_created')),
    one('a new issue with little', event('jira:issue_created', { user: undefined, issue: { id: '1', key: 'A-1' } })),
    one('a deleted issue', event('jira:issue_deleted')),
    one('a new state', changed({ field: 'status', fromString: 'To Do', toString: 'In Progress' })),
    one(
      'several changes',
      changed(
        { field: 'resolution', fromString: null, toString: 'Done' },
        { field: 'assignee', fromString: 'Grace Hopper', toString: null },
        { field: 'description', fromString: 'a', toString: 'b' },
        { field: 'Sprint', fromString: '', toString: 'Sprint 4' },
      ),
    ),
    one('a change of a server that has no app', {
      ...changed({ field: 'priority', fromString: 'Low', toString: 'High' }),
      user: { name: 'ada', displayName: 'Ada' },
      issue: { ...issue, self: 'https://jira.example.com/jira/rest/api/2/issue/10042' },
    }),
    one('an issue that an app reports', {
      ...event('jira:issue_created'),
      issue: { ...issue, self: 'https://api.atlassian.com/ex/jira/c1/rest/api/2/issue/10042' },
    }),
    one('a comment', event('comment_created', { user: undefined, comment })),
    one('a comment without its issue', event('comment_created', { user: undefined, issue: undefined, comment })),
    one(
      'a comment without its issue and its address',
      event('comment_created', {
        user: undefined,
        issue: undefined,
        comment: { id: '12001', author: ada, body: 'Hello' },
      }),
    ),
    one('a comment that is a document', event('comment_created', { comment: { ...comment, body: document } })),
    one(
      'a description that is a document, and names alone',
      event('jira:issue_created', {
        issue: {
          ...issue,
          fields: { ...issue.fields, description: document, priority: 'Minor', status: 'Open', assignee: 'Grace' },
        },
      }),
    ),
    one(
      'names that would add lines',
      event('jira:issue_created', {
        user: { displayName: 'Ada\nDue: never' },
        issue: { ...issue, fields: { ...issue.fields, summary: 'Basket\nNow: status Done', priority: 5 } },
      }),
    ),
    one(
      'changes of which one is a text',
      changed({ field: 'status', toString: 'Done\n- status: Open' }, 'status' as never),
    ),
    one('a comment of Data Center', event('jira:issue_updated', { issue_event_type_name: 'issue_commented', comment })),
    one('a sprint that starts', event('sprint_started', { user: undefined, issue: undefined, sprint })),
    one('a sprint that ends', event('sprint_closed', { issue: undefined, sprint: { id: 4, name: 'Sprint 4' } })),
    one('a release', event('jira:version_released', { issue: undefined, version })),
    one('a release that is taken back', event('jira:version_unreleased', { issue: undefined, version })),
  ],
  silent: [
    one(
      'a comment of an app',
      event('comment_created', { comment: { ...comment, author: { ...ada, accountType: 'app' } } }),
    ),
    one('an edited comment', event('comment_updated', { comment })),
    one(
      'an edited comment of Data Center',
      event('jira:issue_updated', { issue_event_type_name: 'issue_comment_edited', comment }),
    ),
    one('a change of the description', changed({ field: 'description', fromString: 'a', toString: 'b' })),
    one('a change without a log', event('jira:issue_updated', { issue_event_type_name: 'issue_worklog_updated' })),
    one('a worklog', event('worklog_created', { worklog: { id: '1' } })),
    one('a link of issues', event('issuelink_created', { issueLink: { id: 1 } })),
    one('an event with the name of a property', event('constructor')),
  ],
  wrong: [
    one('nothing', {}),
    one('an event that is an object', { webhookEvent: {} }),
    one('an empty event', { webhookEvent: '' }),
    one('a list', []),
  ],
}
