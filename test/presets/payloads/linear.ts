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

export const linear: Samples = {
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
