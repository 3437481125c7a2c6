// Messages that come in parts: what is received, when, and that no part is confirmed before the whole is stored.
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createAlbums, joinMessages } from '../../core/kit/kit.ts'
import type { InboundMessage } from '../../core/plugin/plugin.ts'

afterEach(() => void vi.useRealTimers())

const part = (id: string, more: Partial<InboundMessage> = {}): InboundMessage => ({
  id,
  from: { id: 'ann' },
  to: 'ann',
  text: '',
  attachments: [{ name: `${id}.jpg`, type: 'image/jpeg' }],
  ...more,
})

function open(options: { quietMs?: number; atMostMs?: number } = {}) {
  vi.useFakeTimers()
  const received: InboundMessage[] = []
  const ended = new AbortController()
  const { promise: stored, resolve: store } = Promise.withResolvers<'accepted'>()
  const receive = createAlbums({
    receive: async (message) => {
      received.push(message)
      return await stored
    },
    signal: ended.signal,
    ...options,
  })
  return { receive, received, ended, store: () => store('accepted') }
}

describe('createAlbums', () => {
  it('receives one message when no further part comes, and confirms all parts when it is stored', async () => {
    const { receive, received, store } = open()
    const confirmed: string[] = []
    const say = (id: string, more?: Partial<InboundMessage>) =>
      receive('album', part(id, more)).then((result) => confirmed.push(`${id} ${result}`))
    const first = say('1', { text: 'Two plans.', mentioned: true, group: 'group' })
    await vi.advanceTimersByTimeAsync(900)
    const second = say('2', { mentioned: false, group: 'group' })
    await vi.advanceTimersByTimeAsync(999)
    expect(received).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(received).toMatchObject([
      { id: '1', text: 'Two plans.', mentioned: true, attachments: [{ name: '1.jpg' }, { name: '2.jpg' }] },
    ])
    expect(confirmed).toEqual([])
    store()
    await Promise.all([first, second])
    expect(confirmed).toEqual(['1 accepted', '2 accepted'])
  })

  it('waits no longer than atMostMs, and keeps albums apart', async () => {
    const { receive, received } = open({ quietMs: 1000, atMostMs: 1500 })
    void receive('a', part('1'))
    await vi.advanceTimersByTimeAsync(900)
    void receive('a', part('2'))
    void receive('b', part('3'))
    await vi.advanceTimersByTimeAsync(600)
    expect(received.map(({ id }) => id)).toEqual(['1'])
    void receive('a', part('4'))
    await vi.advanceTimersByTimeAsync(1000)
    expect(received.map(({ id }) => id)).toEqual(['1', '3', '4'])
  })

  it('confirms nothing when the connection ends', async () => {
    const { receive, received, ended } = open()
    const result = receive('a', part('1'))
    ended.abort()
    await expect(result).rejects.toThrow('aborted')
    await expect(receive('a', part('2'))).rejects.toThrow('aborted')
    expect(received).toEqual([])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('joinMessages', () => {
  it('joins the texts, and keeps the quote of any part', () => {
    const quoted = { text: 'Before.' }
    expect(
      joinMessages([part('1', { text: 'One' }), part('2', { text: ' ' }), part('3', { text: 'two', quoted })]),
    ).toEqual({
      ...part('1', { text: 'One\ntwo', quoted }),
      attachments: ['1', '2', '3'].map((id) => ({ name: `${id}.jpg`, type: 'image/jpeg' })),
    })
  })
})
