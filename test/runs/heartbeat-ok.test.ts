// Tests which replies count as an acknowledgement.
import { describe, expect, it } from 'vitest'
import { isAcknowledgement, isOnlyAcknowledgement, removeAcknowledgement } from '../../core/runs/heartbeat-ok.ts'

const limit = 300

describe('isAcknowledgement', () => {
  it.each([
    'HEARTBEAT_OK',
    '  HEARTBEAT_OK\n',
    'HEARTBEAT_OK.',
    'HEARTBEAT_OK!!!!',
    '"HEARTBEAT_OK"',
    '**HEARTBEAT_OK**',
    '_HEARTBEAT_OK_',
    '`HEARTBEAT_OK`',
    '~~HEARTBEAT_OK~~.',
    '***HEARTBEAT_OK***!',
    String.raw`HEARTBEAT\_OK`,
    '```\nHEARTBEAT_OK\n```',
    '# HEARTBEAT_OK',
    '> HEARTBEAT_OK',
    '- HEARTBEAT_OK',
    '<b>HEARTBEAT_OK</b>',
    '<p class="note"><strong>HEARTBEAT_OK</strong>.</p>',
    '&nbsp;HEARTBEAT_OK&nbsp;',
    'HEARTBEAT_OK - all quiet',
    'HEARTBEAT_OK\n\nNothing to report.',
    '_HEARTBEAT_OK_ Nothing to report.',
    '<b>HEARTBEAT_OK</b> Nothing to report.',
    'Nothing to report. HEARTBEAT_OK',
    'Nothing to report. HEARTBEAT_OK....',
    'Nothing to report.\n\n**HEARTBEAT_OK**.',
    'Nothing to report: _HEARTBEAT_OK_',
    'Nothing to report <b>HEARTBEAT_OK</b>!',
    'Nothing(HEARTBEAT_OK)',
  ])('returns true for %j', (reply) => {
    expect(isAcknowledgement(reply, limit)).toBe(true)
  })

  it.each([
    '',
    'Nothing to report.',
    'heartbeat_ok',
    'Heartbeat_OK',
    'HEARTBEAT OK',
    'HEARTBEAT_OKAY',
    'HEARTBEAT_OK_2',
    'HEARTBEAT_OK2',
    'THE_HEARTBEAT_OK',
    'XHEARTBEAT_OK',
    'Nothing to report. HEARTBEAT_OK.....',
    'I would say HEARTBEAT_OK but the disk is full.',
    'Say **HEARTBEAT_OK** when done',
  ])('returns false for %j', (reply) => {
    expect(isAcknowledgement(reply, limit)).toBe(false)
  })

  it('accepts up to maxChars other characters beside the word', () => {
    for (const text of ['x'.repeat(limit), 'y '.repeat(limit / 2 - 1) + 'zz']) {
      expect(isAcknowledgement(`HEARTBEAT_OK ${text}`, limit)).toBe(true)
      expect(isAcknowledgement(`HEARTBEAT_OK ${text}x`, limit)).toBe(false)
      expect(isAcknowledgement(`${text} HEARTBEAT_OK`, limit)).toBe(true)
      expect(isAcknowledgement(`x${text} HEARTBEAT_OK`, limit)).toBe(false)
    }
    expect(isAcknowledgement('HEARTBEAT_OK', 0)).toBe(true)
    expect(isAcknowledgement('HEARTBEAT_OK!!!!', 0)).toBe(true)
    expect(isAcknowledgement('HEARTBEAT_OK!!!!!', 0)).toBe(false)
    expect(isAcknowledgement('HEARTBEAT_OK x', 0)).toBe(false)
  })

  it('takes no excessive time on long runs of markup', () => {
    for (const mark of ['*', ' ', '<', '<b>', '`\n', '&nbsp;', '.', '_'])
      expect(isAcknowledgement(`${mark.repeat(100_000)}x`, limit)).toBe(false)
  })
})

describe('isOnlyAcknowledgement', () => {
  it.each([
    'HEARTBEAT_OK',
    ' **HEARTBEAT_OK** ',
    '"HEARTBEAT_OK"',
    'HEARTBEAT_OK!!!!',
    '```\nHEARTBEAT_OK\n```',
    '<p>HEARTBEAT_OK</p>',
  ])('returns true for %j', (reply) => expect(isOnlyAcknowledgement(reply)).toBe(true))

  it.each([
    '',
    'HEARTBEAT_OK x',
    'OK',
    'HEARTBEAT_OK 🔥',
    'The disk is full, act now. HEARTBEAT_OK',
    'HEARTBEAT_OKAY',
    '5. HEARTBEAT_OK',
  ])('returns false for %j', (reply) => expect(isOnlyAcknowledgement(reply)).toBe(false))
})

describe('removeAcknowledgement', () => {
  it.each([
    ['The disk is full, act now. HEARTBEAT_OK', 'The disk is full, act now.'],
    ['The disk is full.\n\n**HEARTBEAT_OK**.', 'The disk is full.'],
    ['The disk is full.\n\n# HEARTBEAT_OK', 'The disk is full.'],
    ['**The disk is full. HEARTBEAT_OK**', '**The disk is full.**'],
    ['HEARTBEAT_OK: the disk is full', 'the disk is full'],
    ['HEARTBEAT_OK\n\n- the disk is full', '- the disk is full'],
    ['- HEARTBEAT_OK\n- the disk is full', '- the disk is full'],
    ['**HEARTBEAT_OK: the disk is full**', '**the disk is full**'],
    ['<p><b>HEARTBEAT_OK</b> the disk is full</p>', '<p>the disk is full</p>'],
    [String.raw`HEARTBEAT\_OK – the disk is full`, 'the disk is full'],
    ['```\nHEARTBEAT_OK\n```\nthe disk is full', 'the disk is full'],
    ['The disk is full (HEARTBEAT_OK).', 'The disk is full'],
    ['Write HEARTBEAT_OK if it is not full.', 'Write HEARTBEAT_OK if it is not full.'],
    ['HEARTBEAT_OKAY then', 'HEARTBEAT_OKAY then'],
    [' as it was ', ' as it was '],
  ])('turns %j into %j', (reply, rest) => {
    expect(removeAcknowledgement(reply)).toBe(rest)
  })
})
