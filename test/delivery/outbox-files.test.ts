// Files in the outbox: they are read when they are sent, and a file that cannot be sent is a failure with a reason.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { startChat } from '../doubles/chat.ts'
import { temporaryFolder } from '../helpers.ts'
import { startOutbox } from './start-outbox.ts'

describe('a delivery with a file', () => {
  function fileIn(dir: string, data = 'the report') {
    writeFileSync(join(dir, 'report.txt'), data)
    return { folder: dir, path: 'report.txt', name: 'report.txt', type: 'text/plain' }
  }

  it('sends the file with its text as the caption', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ text: 'Here.', file: fileIn(temporaryFolder()) }))).toMatchObject({ status: 'sent' })
    expect(chat.held).toMatchObject([
      { text: 'Here.', file: { name: 'report.txt', type: 'text/plain', data: 'the report' } },
    ])
  })

  it('sends a file without a text, and a long text before the file', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    await ended(await put({ text: '', file: fileIn(temporaryFolder()) }))
    await ended(await put({ text: `${'one '.repeat(20)}\n\ntwo`, file: fileIn(temporaryFolder()) }))
    expect(chat.held.map(({ text, file }) => [text.trim(), file?.name])).toEqual([
      ['', 'report.txt'],
      ['one '.repeat(20).trim(), undefined],
      ['two', undefined],
      ['', 'report.txt'],
    ])
  })

  it.each([
    ['is gone', { path: 'other.txt' }, /^The file cannot be sent: path "other.txt" does not exist/],
    ['leaves the workspace', { path: '../report.txt' }, /^The file cannot be sent: path/],
  ])('fails with a reason if the file %s', async (_case, changes, reason) => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    const file = { ...fileIn(temporaryFolder()), ...changes }
    expect(await ended(await put({ file }))).toMatchObject({ status: 'failed', reason: expect.stringMatching(reason) })
    expect(chat.attempts).toEqual([])
  })

  it('fails with a reason if the file has grown too large', async () => {
    const chat = await startChat()
    const { put, ended } = await startOutbox(chat)
    expect(await ended(await put({ file: fileIn(temporaryFolder(), 'x'.repeat(1001)) }))).toMatchObject({
      status: 'failed',
      reason: expect.stringContaining('has 1001 bytes, and at most 1000 can be sent there'),
    })
  })

  it('is not sent twice if the answer is lost', async () => {
    const chat = await startChat()
    chat.script('lose')
    const { put, ended } = await startOutbox(chat)
    await ended(await put({ channel: 'chat-reconcile', file: fileIn(temporaryFolder()) }))
    expect(chat.attempts).toHaveLength(1)
  })
})
