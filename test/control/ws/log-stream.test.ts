// Tests the log stream.
import { describe, expect, it } from 'vitest'
import { createRedactor } from '../../../core/config/redaction.ts'
import { createLogStream, type LogRecord } from '../../../core/control/ws/log-stream.ts'
import type { Log } from '../../../core/plugin/plugin.ts'

function openLog(level: string, secrets: readonly string[] = []) {
  const written: unknown[] = []
  const published: LogRecord[] = []
  const at = (level: string) => (fields: object, message: string) => void written.push([level, fields, message])
  const log: Log = { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') }
  const { logFor, feed, setLevel } = createLogStream({ logFor: () => log, level, redact: createRedactor(secrets).text })
  return {
    log: logFor('component'),
    written,
    published,
    listen: () => feed.subscribe((line) => published.push(line)),
    setLevel,
  }
}

describe('the log stream', () => {
  it('always writes to the log, and publishes only while there are subscribers', () => {
    const { log, written, published, listen } = openLog('info')
    const trap = { toJSON: () => expect.unreachable('nobody listens') }
    log.info({ trap }, 'before')
    expect(written).toHaveLength(1)
    const leave = listen()
    log.warn({ count: 1 }, 'during')
    leave()
    log.info({ trap }, 'after')
    expect(published).toEqual([
      {
        at: expect.stringMatching(/^20.*Z$/),
        level: 'warn',
        component: 'component',
        message: 'during',
        fields: { count: 1 },
      },
    ])
    expect(written).toHaveLength(3)
  })

  it.each([
    ['trace', ['debug', 'info', 'warn', 'error']],
    ['debug', ['debug', 'info', 'warn', 'error']],
    ['warn', ['warn', 'error']],
    ['fatal', []],
    ['silent', []],
  ])('publishes from the level %s on', (level, expected) => {
    const { log, published, listen } = openLog(level)
    listen()
    for (const each of ['debug', 'info', 'warn', 'error'] as const) log[each]({}, 'line')
    expect(published.map(({ level }) => level)).toEqual(expected)
  })

  it('follows a change of the level', () => {
    const { log, published, listen, setLevel } = openLog('warn')
    listen()
    log.info({}, 'before')
    setLevel('info')
    log.info({}, 'after')
    expect(published.map(({ message }) => message)).toEqual(['after'])
  })

  it('redacts secrets in strings only, and keeps the record intact', () => {
    const { log, published, listen } = openLog('info', ['top"secret', 'hushhush', '","fields":{"', '1', 'true'])
    listen()
    log.info({ deep: { list: ['my hushhush!'] }, hushhush: 1, on: true }, 'it is top"secret, 1')
    expect(published[0]).toMatchObject({
      message: 'it is [redacted], 1',
      fields: { deep: { list: ['my [redacted]!'] }, hushhush: 1, on: true },
    })
  })

  it('never throws, even when the log or a subscriber does', () => {
    const fail = () => {
      throw new Error('no room')
    }
    const { logFor, feed } = createLogStream({
      logFor: () => ({ debug: fail, info: fail, warn: fail, error: fail }),
      level: 'debug',
      redact: String,
    })
    feed.subscribe(fail)
    const log = logFor('component')
    for (const each of ['debug', 'info', 'warn', 'error'] as const) expect(() => log[each]({}, 'line')).not.toThrow()
  })

  it('omits fields that JSON cannot represent', () => {
    const { log, published, listen } = openLog('info')
    listen()
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    log.error(circle, 'round')
    log.error({ big: 1n }, 'big')
    expect(published).toMatchObject([
      { message: 'round', fields: {} },
      { message: 'big', fields: {} },
    ])
  })
})
