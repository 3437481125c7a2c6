// The log as news: what is heard of it, and what is not.
import { describe, expect, it } from 'vitest'
import { createLogNews, type LogNews } from '../../core/control/log-news.ts'
import type { Log } from '../../core/plugin.ts'

function openLog(level: string, secrets: readonly string[] = []) {
  const written: unknown[] = []
  const heard: LogNews[] = []
  let asked = 0
  const at = (level: string) => (fields: object, message: string) => void written.push([level, fields, message])
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const { logFor, feed } = createLogNews({ logFor: () => log, level, secrets: () => ((asked += 1), secrets) })
  return { log: logFor('room'), written, heard, listen: () => feed.listen((line) => heard.push(line)), asked: () => asked }
}

describe('the log as news', () => {
  it('is written in any case, and made into news only while somebody listens', () => {
    const { log, written, heard, listen, asked } = openLog('info')
    const trap = { toJSON: () => expect.unreachable('nobody listens') }
    log.info({ trap }, 'before')
    expect([written.length, asked()]).toEqual([1, 0])
    const leave = listen()
    log.warn({ count: 1 }, 'during')
    leave()
    log.info({ trap }, 'after')
    expect(heard).toEqual([{ at: expect.stringMatching(/^20.*Z$/), level: 'warn', room: 'room', message: 'during', fields: { count: 1 } }])
    expect(written).toHaveLength(3)
  })

  it.each([
    ['trace', ['debug', 'info', 'warn', 'error']],
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['fatal', []],
    ['silent', []],
  ])('is heard from the level %s on', (level, expected) => {
    const { log, heard, listen } = openLog(level)
    listen()
    for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]({}, 'line')
    expect(heard.map(({ level }) => level)).toEqual(expected)
  })

  it('holds no secret, in whatever field or text', () => {
    const { log, heard, listen } = openLog('info', ['top"secret\n', 'hush'])
    listen()
    log.info({ deep: { list: ['my hush!'] }, hush: 1 }, 'it is top"secret\n')
    expect(heard[0]).toMatchObject({ message: 'it is [redacted]', fields: { deep: { list: ['my [redacted]!'] }, '[redacted]': 1 } })
  })

  it('goes without fields that do not fit into JSON', () => {
    const { log, heard, listen } = openLog('info')
    listen()
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    log.error(circle, 'round')
    log.error({ big: 1n }, 'big')
    expect(heard).toMatchObject([
      { message: 'round', fields: {} },
      { message: 'big', fields: {} },
    ])
  })
})
