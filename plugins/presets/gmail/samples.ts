// A sample of what a forwarder of Gmail posts: one mail.
import type { SampleRequest, SampleSeed } from 'svc-gateway/plugin'

export const createSamples = ({ id, now }: SampleSeed): SampleRequest[] => [
  {
    name: 'mail',
    payload: {
      source: 'gmail',
      account: 'me@example.com',
      messages: [
        {
          id,
          threadId: 't1',
          from: 'Ada <ada@example.com>',
          to: 'me@example.com',
          subject: 'Lunch on Friday?',
          date: new Date(now).toUTCString(),
          snippet: 'Are you in the office on Friday?',
          body: 'Are you in the office on Friday?\nAda\n',
          labels: ['INBOX'],
        },
      ],
    },
  },
]
