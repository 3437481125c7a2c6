// Tests how the history is trimmed: whole turns, the newest ones, within the limits.
import { describe, expect, it } from 'vitest'
import { trimHistory, estimateTokens } from '../../core/agents/history.ts'
import type { Json } from '../../core/plugin/plugin.ts'
import { chooseSeed } from '../config/random.ts'

const user = (content: string): Json => ({ role: 'user', content })
const says = (text: string): Json => ({ role: 'assistant', content: [{ type: 'text', text }] })
const calls = (id: string): Json => ({
  role: 'assistant',
  content: [{ type: 'tool-call', toolCallId: id, toolName: 'clock', input: {} }],
})
const gets = (id: string, value: string): Json => ({
  role: 'tool',
  content: [{ type: 'tool-result', toolCallId: id, toolName: 'clock', output: { type: 'json', value } }],
})
const toolTurn = (id: string, value = 'noon') => [user(`turn ${id}`), calls(id), gets(id, value), says(`done ${id}`)]
const plenty = { turns: 100, tokens: 1_000_000 }

describe('trimHistory', () => {
  it('keeps everything that fits, in order', () => {
    const messages = [...toolTurn('a'), user('hi'), says('hello')]
    expect(trimHistory(messages, plenty)).toEqual(messages)
  })

  it('keeps the newest turns whole', () => {
    const messages = [...toolTurn('a'), ...toolTurn('b'), ...toolTurn('c')]
    expect(trimHistory(messages, { ...plenty, turns: 2 })).toEqual(messages.slice(4))
    expect(trimHistory(messages, { ...plenty, turns: 0 })).toEqual([])
  })

  it('stops at the turn that exceeds the tokens', () => {
    const messages = [user('old'), says('x'.repeat(4000)), user('new'), says('short')]
    expect(trimHistory(messages, { ...plenty, tokens: 200 })).toEqual(messages.slice(2))
  })

  it('keeps the text of a turn that is too long, without its tool calls and results', () => {
    const [question, , , answer] = toolTurn('a')
    expect(trimHistory(toolTurn('a', 'z'.repeat(4000)), { ...plenty, tokens: 200 })).toEqual([question, answer])
  })

  it('keeps the text of a message when it drops the tool call', () => {
    const mixed: Json = {
      role: 'assistant',
      content: [
        { type: 'text', text: 'let me see' },
        { type: 'tool-call', toolCallId: 'a', toolName: 'clock', input: {} },
      ],
    }
    const kept = trimHistory([user('q'), mixed, gets('a', 'z'.repeat(4000)), says('done')], { ...plenty, tokens: 200 })
    expect(kept).toEqual([user('q'), says('let me see'), says('done')])
  })

  it('begins with a user message, and leaves out values that are no messages', () => {
    const messages = [
      gets('a', 'cut'),
      says('cut'),
      null,
      'text',
      { role: 'system', content: 'no' },
      { role: 'user' },
      user('hi'),
      says('hello'),
    ]
    expect(trimHistory(messages, plenty)).toEqual([user('hi'), says('hello')])
  })

  it('keeps each tool result with its call under random limits', () => {
    let state = chooseSeed()
    const random = (below: number) => ((state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff) >> 8) % below
    for (let round = 0; round < 300; round++) {
      const messages = Array.from({ length: random(8) }, (_, turn) =>
        toolTurn(`${round}-${turn}`, 'v'.repeat(random(600))),
      ).flat()
      const limits = { turns: random(8), tokens: random(1200) }
      const kept = trimHistory(messages.slice(random(4)), limits)
      const ids = (type: string) =>
        kept
          .flatMap((message) => (message as { content: { type: string; toolCallId: string }[] }).content)
          .flatMap((part) => (part.type === type ? [part.toolCallId] : []))
      expect(ids('tool-result')).toEqual(ids('tool-call'))
      expect(kept.length === 0 || (kept[0] as { role: string }).role === 'user').toBe(true)
      expect(kept.filter((message) => (message as { role: string }).role === 'user').length).toBeLessThanOrEqual(
        limits.turns,
      )
      expect(kept.reduce((sum: number, message) => sum + estimateTokens(message), 0)).toBeLessThanOrEqual(
        limits.tokens + kept.length,
      )
    }
  })
})
