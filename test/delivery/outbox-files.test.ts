// Files in the outbox: they are read when they are sent, and a file that cannot be sent is a failure with a reason.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { startOutbox } from './start-outbox.ts'

/** Each test has a recipient of its own. */
const shared = share(async () => {
  const chat = await startChat()
  return { chat, ...(await startOutbox(chat)) }
})

describe('a delivery with a file', () => {
  function fileIn(dir: string, data = 'the report') {
    writeFileSync(join(dir, 'report.txt'), data)
    return { folder: dir, path: 'report.txt', name: 'report.txt', type: 'text/plain' }
  }

  it('sends the file with its text as the caption', async () => {
    const { chat, put, ended } = shared()
    expect(await ended(await put({ to: 'caption', text: 'Here.', file: fileIn(temporaryFolder()) }))).toMatchObject({
      status: 'sent',
    })
    expect(chat.held.filter(({ to }) => to === 'caption')).toMatchObject([
      { text: 'Here.', file: { name: 'report.txt', type: 'text/plain', data: 'the report' } },
    ])
  })

  it('sends a file without a text, and a long text before the file', async () => {
    const { chat, put, ended } = shared()
    await ended(await put({ to: 'alone', text: '', file: fileIn(temporaryFolder()) }))
    await ended(await put({ to: 'alone', text: `${'one '.repeat(20)}\n\ntwo`, file: fileIn(temporaryFolder()) }))
    expect((await chat.holds(4, 'alone')).map(({ text, file }) => [text.trim(), file?.name])).toEqual([
      ['', 'report.txt'],
      ['one '.repeat(20).trim(), undefined],
      ['two', undefined],
      ['', 'report.txt'],
    ])
  })

  it('sends a text before the file if it is longer than limits.maxCaption', async () => {
    const { chat, put, ended } = shared()
    for (const text of ['Here.', 'There.'])
      await ended(await put({ channel: 'chat-reconcile', to: 'short', text, file: fileIn(temporaryFolder()) }))
    expect((await chat.holds(3, 'short')).map(({ text, file }) => [text, file?.name])).toEqual([
      ['Here.', 'report.txt'],
      ['There.', undefined],
      ['', 'report.txt'],
    ])
  })

  it.each([
    ['is gone', { path: 'other.txt' }, /^The file cannot be sent: path "other.txt" does not exist/],
    ['leaves the workspace', { path: '../report.txt' }, /^The file cannot be sent: path/],
  ])('fails with a reason if the file %s', async (to, changes, reason) => {
    const { chat, put, ended } = shared()
    const file = { ...fileIn(temporaryFolder()), ...changes }
    expect(await ended(await put({ to, file }))).toMatchObject({
      status: 'failed',
      reason: expect.stringMatching(reason),
    })
    expect(chat.attempts.filter((attempt) => attempt.to === to)).toEqual([])
  })

  it('fails with a reason if the file has grown too large', async () => {
    const { put, ended } = shared()
    expect(await ended(await put({ to: 'large', file: fileIn(temporaryFolder(), 'x'.repeat(1001)) }))).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('has 1001 bytes, and at most 1000 can be sent there'),
    })
  })

  it('is not sent twice if the answer is lost', async () => {
    const { chat, put, ended } = shared()
    chat.script('lose')
    await ended(await put({ channel: 'chat-reconcile', to: 'lost', file: fileIn(temporaryFolder()) }))
    expect(chat.attempts.filter(({ to }) => to === 'lost')).toHaveLength(1)
  })
})
