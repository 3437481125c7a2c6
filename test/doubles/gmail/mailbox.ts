// The part of the double of Google that is the Gmail API of one mailbox.
import { fault, type Routes } from './routes.ts'

export const account = 'ada@example.com'

interface StoredMail {
  id: string
  labelIds: readonly string[]
  internalDate: string
  [key: string]: unknown
}

export interface MailOptions {
  text?: string
  html?: string
  labels?: readonly string[]
  subject?: string
}

export function createMailbox() {
  const mails = new Map<string, StoredMail>()
  const history: { id: number; mail: string }[] = []
  let [last, oldest] = [1000, 1000]

  const routes: Routes = {
    'GET /gmail/v1/users/me/profile': () => ({ body: { emailAddress: account, historyId: String(last) } }),
    'GET /gmail/v1/users/me/labels': () => ({
      body: {
        labels: ['INBOX', 'SENT', 'SPAM'].map((id) => ({ id, name: id })).concat({ id: 'Label_7', name: 'Bills' }),
      },
    }),
    'GET /gmail/v1/users/me/history': ({ query }) => {
      const start = Number(query.get('startHistoryId'))
      if (start < oldest) return fault(404, 'Requested entity was not found.')
      const newer = history.filter(({ id }) => id > start)
      // Two records a page, so that there are several pages.
      const from = Number(query.get('pageToken') ?? 0)
      const page = newer.slice(from, from + 2).map(({ id, mail }) => ({
        id: String(id),
        messagesAdded: [{ message: { id: mail, labelIds: mails.get(mail)?.labelIds } }],
      }))
      const more = from + 2 < newer.length && { nextPageToken: String(from + 2) }
      return { body: { history: page, historyId: String(last), ...more } }
    },
    'GET /gmail/v1/users/me/messages': ({ query }) => {
      const after = Number(/^after:(\d+)$/.exec(query.get('q') ?? '')?.[1]) * 1000
      const found = [...mails.values()].filter(
        ({ labelIds, internalDate }) => labelIds.includes(query.get('labelIds') ?? '') && Number(internalDate) >= after,
      )
      return { body: { messages: found.toReversed().map(({ id }) => ({ id })) } }
    },
  }

  return {
    routes,
    routeTo(path: string): Routes[string] | undefined {
      const id = /^\/gmail\/v1\/users\/me\/messages\/(\w+)$/.exec(path)?.[1]
      return id === undefined ? undefined : () => (mails.has(id) ? { body: mails.get(id) } : fault(404, 'Not Found'))
    },
    lastId: () => String(last),
    change: () => ({ emailAddress: account, historyId: last }),
    expireHistory: () => void (oldest = last + 1),
    add(options: MailOptions = {}): string {
      const id = `m${++last}`
      mails.set(id, createMail(id, options))
      history.push({ id: last, mail: id })
      return id
    },
  }
}

function createMail(
  id: string,
  { text = 'Are you hungry?', html, labels = ['INBOX', 'UNREAD'], subject = 'Lunch?' }: MailOptions,
): StoredMail {
  const part = (mimeType: string, data: string) => ({
    mimeType,
    body: { data: Buffer.from(data).toString('base64url') },
  })
  const headers = [
    { name: 'From', value: 'Bob <bob@example.com>' },
    { name: 'To', value: account },
    { name: 'Subject', value: subject },
  ]
  return {
    id,
    threadId: `t${id}`,
    labelIds: labels,
    snippet: 'Are you &#39;hungry&#39;?',
    internalDate: String(Date.now()),
    payload: html
      ? { mimeType: 'multipart/alternative', headers, parts: [part('text/html', html)] }
      : { ...part('text/plain', text), headers },
  }
}
