// Payloads of Linear, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

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

const linearComment = (more: object, from: object = {}) => {
  const data = { id: 'c', body: 'Why?', issue: { id: 'a-b', identifier: 'ENG-7', title: 'Cart is empty' } }
  return linearEvent({
    type: 'Comment',
    url: 'https://linear.app/x/issue/ENG-7#c',
    ...more,
    data: { ...data, ...from },
  })
}
const bots: Readonly<Record<string, [object, object?]>> = {
  'an OAuth client': [{ actor: { id: 'o', name: 'Agent', type: 'oauthClient' } }, { user: { name: 'Agent' } }],
  'an integration': [{ actor: { id: 'n', service: 'zapier', type: 'integration' } }],
  'an app that acts as itself': [
    { actor: { id: 'u9', name: 'Agent', type: 'user', email: '7c@oauthapp.linear.app' } },
    { user: { id: 'u9', name: 'Agent', email: '7c@oauthapp.linear.app' } },
  ],
}

export const linear: Samples = {
  told: [
    one('a limit that was missed', {
      action: 'breached',
      type: 'IssueSLA',
      issueData: { id: 'a-b', identifier: 'ENG-1', title: 'Broken', slaBreachesAt: '2030-01-31T09:00:00Z' },
    }),
    one('an issue that is assigned to the agent', {
      type: 'AppUserNotification',
      action: 'issueAssignedToYou',
      notification: {
        id: 'n',
        actor: { name: 'Ada' },
        issue: { id: 'a-b', identifier: 'ENG-1', title: 'Broken', url: 'https://linear.app/i', description: 'Steps' },
      },
    }),
    one('a notification of the future', {
      type: 'AppUserNotification',
      action: 'projectDue',
      notification: { id: 'n', project: { id: 'p', name: 'Shop', url: 'https://linear.app/p' } },
    }),
    one('a session with the agent', {
      type: 'AgentSessionEvent',
      action: 'created',
      agentSession: { id: 's', creator: { name: 'Ada' }, issueId: 'a-b', url: 'https://linear.app/s' },
      promptContext: 'Please mend it.',
    }),
    one(
      'an issue of which only the state has changed',
      linearEvent({
        action: 'update',
        data: {
          ...linearIssue,
          stateId: 's1',
          dueDate: null,
          projectId: null,
          assignee: undefined,
          assigneeId: undefined,
          title: 'Cart is empty',
        },
        updatedFrom: {
          stateId: 's0',
          dueDate: null,
          projectId: null,
          assigneeId: null,
          archivedAt: null,
          title: 'Cart is empty',
          updatedAt: 't',
        },
      }),
    ),
    one(
      'an issue with a new assignee and without its due date',
      linearEvent({
        action: 'update',
        data: { ...linearIssue, dueDate: null },
        updatedFrom: { assigneeId: null, dueDate: '2030-02-01' },
      }),
    ),
    one(
      'an issue that an integration changed',
      linearEvent({
        action: 'update',
        actor: { id: 'n', service: 'github', type: 'integration' },
        updatedFrom: { stateId: 's0' },
      }),
    ),
    one(
      'a comment of a person of Slack',
      linearComment(
        { actor: { id: 'n', name: 'Slack', service: 'slack', type: 'integration' } },
        { externalUser: { id: 'e', name: 'Grace' } },
      ),
    ),
    one(
      'an issue with fields of other types',
      linearEvent({ data: { ...linearIssue, assignee: 'Ada', title: 5, state: ['Todo'], lead: [] }, actor: 'Bob' }),
    ),
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
    one(
      'a project with another status and lead',
      linearEvent({
        type: 'Project',
        action: 'update',
        url: 'https://linear.app/x/project/launch',
        data: { id: 'p', name: 'Launch', status: { id: 's', name: 'In Progress' }, lead: { id: 'u', name: 'Ada' } },
        updatedFrom: { statusId: 's0', leadId: null, updatedAt: 't' },
      }),
    ),
    one('an issue that was moved to another team', {
      ...linearEvent({ action: 'update', updatedFrom: { teamId: 't0', number: 7, updatedAt: 't' } }),
      data: { ...linearIssue, identifier: 'OPS-1' },
    }),
    one('an issue that came back', linearEvent({ action: 'restore' })),
    ...Object.entries({
      'an update of a project': { projectUpdate: { id: 'pu', project: { id: 'p', name: 'Launch' } } },
      'an update of an initiative': { initiativeUpdate: { id: 'iu' } },
      'a document': { documentContentId: 'dc', documentContent: { id: 'dc', document: { id: 'doc', title: 'Plan' } } },
      'the description of a project': { documentContent: { id: 'dc', project: { id: 'p', name: 'Launch' } } },
      'a document that is not in the payload': { documentContentId: 'dc' },
    }).map(([what, subject]) =>
      one(
        `a comment on ${what}`,
        linearEvent({
          type: 'Comment',
          url: 'https://linear.app/x/document/plan#comment-c',
          data: { id: 'c', body: 'Why?', user: { id: 'u2', name: 'Bob' }, ...subject },
        }),
      ),
    ),
  ],
  silent: [
    ...Object.entries(bots).flatMap(([who, [event, data]]) => [
      one(`a comment of ${who}`, linearComment(event, data)),
      one(`an update of a project by ${who}`, linearComment({ ...event, type: 'ProjectUpdate' }, data)),
    ]),
    one(
      'an update without any change',
      linearEvent({ action: 'update', updatedFrom: { archivedAt: null, projectId: null, updatedAt: 't' } }),
    ),
    one(
      'an issue that was moved in a list',
      linearEvent({ action: 'update', updatedFrom: { sortOrder: 5, updatedAt: 't' } }),
    ),
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
    one('a list', []),
  ],
}
