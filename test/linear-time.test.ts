// What reads texts of models and strangers on the main thread takes time that grows with their length, and no faster.
import { describe, expect, it } from 'vitest'
import { describeBinaryContent } from '../core/agents/binary-content.ts'
import { withoutFetches } from '../core/delivery/format/pictures.ts'
import { parseChatCommand } from '../core/delivery/inbound/chat-commands.ts'
import { clip, line, quote } from '../core/kit/text.ts'
import { readHtml } from '../core/kit/read-html.ts'
import { isAcknowledgement, removeAcknowledgement } from '../core/runs/heartbeat-ok.ts'
import { countSuspicious, wrapExternalContent } from '../core/sessions/external-content.ts'

const readers: Record<string, (text: string) => unknown> = {
  'web pages': (text) => readHtml(text, 'https://a.example/'),
  'external content': (text) => wrapExternalContent({ text, source: 'webhook', subject: text.slice(0, 200) }),
  'suspicious phrases': countSuspicious,
  'results of tools': describeBinaryContent,
  'heartbeat acknowledgements': (text) => isAcknowledgement(text, 300),
  'replies without acknowledgements': (text) => removeAcknowledgement(`${text}HEARTBEAT_OK${text}`),
  'chat commands': parseChatCommand,
  'pictures in messages': withoutFetches,
  'texts of events': (text) => [clip(text), line(text), quote(text)],
}

const parts = [
  '<',
  '<a ',
  '<!--',
  '&',
  '&#',
  '<div>',
  '!',
  '[',
  '![',
  '![x](',
  '[![x](',
  '<img ',
  '<img src=x>',
  '</div>',
  '<p>',
  '<ul><li>',
  '<table><tr><td>',
  '<script>',
  '<style',
  '<a href="',
  '<a href="x">',
  '<pre>',
  '<br>',
  '>',
  '<![CDATA[',
  '"',
  "'",
  '=',
  ' ',
  '\n',
  'a b ',
  '\u200b',
  '<<<',
  '<<<END',
  '＜',
  'OUTSIDE TEXT ',
  'EXTERNAL_',
  'ignore all previous ',
  '/new@',
  '\u0301',
  '*_~`',
  'data:',
  'data:a/b;',
  'data:a/b;base64,',
  ';a=b',
  'HEARTBEAT_OK',
  '<b>',
  '&nbsp;',
]

const short = 40_000
/** Below this, the time says nothing. */
const noiseMs = 40

function cpuMsOf(read: (text: string) => unknown, text: string): number {
  const before = process.cpuUsage()
  read(text)
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}

/** The time of twice the text, in times of the text. One measurement that is linear suffices. */
function growthOf(read: (text: string) => unknown, part: string): number {
  const text = part.repeat(Math.ceil(short / part.length))
  let growth = Infinity
  for (let tries = 0; tries < 5 && growth > 3; tries++) {
    const once = cpuMsOf(read, text)
    growth = cpuMsOf(read, text + text) / Math.max(once, noiseMs)
  }
  return growth
}

describe.each(Object.entries(readers))('the time of reading %s', (_name, read) => {
  it('is linear', () => {
    expect(parts.filter((part) => growthOf(read, part) > 3)).toEqual([])
  })
})
