// Payloads of Gmail, written by hand after its documentation.
import { one, type Samples } from '../sample.ts'

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

export const gmail: Samples = {
  told: [
    one('a mail', { source: 'gmail', account: 'me@example.com', messages: [mail] }),
    one('two mails, one with little', { messages: [mail, { from: 'bob@example.com', snippet: 'Hi' }] }),
    one('a mailbox that has changed', pushed({ emailAddress: 'me@example.com', historyId: 9876 })),
    one('a mailbox that has changed, without the wrapper of Pub/Sub', {
      emailAddress: 'me@example.com',
      historyId: '9876',
    }),
    one('a list of the Gmail API', {
      messages: [
        { id: 'm1', threadId: 't1' },
        { id: 'm2', threadId: 'm2' },
      ],
      resultSizeEstimate: 2,
    }),
    one('one mail of a list', { messages: [{ id: 'm1', threadId: 't1' }] }),
    one('a history', {
      emailAddress: 'me@example.com',
      historyId: '9880',
      history: [
        {
          id: '9877',
          messages: [{ id: 'm1', threadId: 't1' }],
          messagesAdded: [{ message: { id: 'm1', threadId: 't1', labelIds: ['INBOX'] } }],
        },
        { id: '9878', messages: [{ id: 'm0', threadId: 't0' }], labelsAdded: [{ message: { id: 'm0' } }] },
        { id: '9879', messages: [{ id: 'm2', threadId: 't2' }] },
      ],
    }),
    one('a mail in the form of the Gmail API', {
      messages: [
        {
          id: 'm3',
          threadId: 't3',
          labelIds: ['INBOX'],
          snippet: 'Are you',
          internalDate: '1900000000000',
          payload: {
            mimeType: 'multipart/alternative',
            headers: [
              { name: 'From', value: 'Ada <ada@example.com>' },
              { name: 'To', value: 'me@example.com' },
              { name: 'Subject', value: 'Lunch?' },
              { name: 'Date', value: 'Thu, 31 Jan 2030 09:00:00 +0000' },
            ],
            parts: [
              { mimeType: 'text/plain', body: { data: Buffer.from('Are you hungry? ☺').toString('base64url') } },
              { mimeType: 'text/html', body: { data: Buffer.from('<b>Are you hungry?</b>').toString('base64url') } },
            ],
          },
        },
      ],
    }),
  ],
  silent: [
    one('a mail that is a text', { messages: ['x'] }),
    one('a mail that the agent has sent', { messages: [{ ...mail, labels: ['SENT'] }] }),
    one('a draft in a history', {
      history: [{ messagesAdded: [{ message: { id: 'm9', threadId: 't9', labelIds: ['DRAFT'] } }] }],
    }),
    one('no mails', { messages: [] }),
    one('a history without new mail', {
      historyId: '9880',
      history: [{ id: '9878', messages: [{ id: 'm0', threadId: 't0' }], labelsRemoved: [{ message: { id: 'm0' } }] }],
    }),
  ],
  wrong: [
    one('nothing', {}),
    one('mails that are none', { messages: 'x' }),
    one('too many mails', { messages: Array.from({ length: 201 }, () => mail) }),
    one('data that is not base64 of JSON', { message: { data: 'hello' } }),
    one('data of somebody else', pushed({ hello: 1 })),
    one('data that is null', pushed(null)),
  ],
}
