// The text of Jira's documents: bounded in depth and length, whatever the document is.
import { describe, expect, it } from 'vitest'
import { documentText } from '../../plugins/presets/jira/document-text.ts'

const text = (words: string) => ({ type: 'text', text: words })
const doc = (...content: unknown[]) => ({ type: 'doc', version: 1, content })

describe('documentText', () => {
  it('returns a text as it is, and nothing of other values', () => {
    expect(documentText('h1. Title')).toBe('h1. Title')
    for (const value of [undefined, null, 5, true, [], {}, [text('x')], { content: 'x' }, doc(null, 5, 'x', [])])
      expect(documentText(value)).toBe('')
  })

  it('reads nested lists, and ends at fifty levels', () => {
    const list = (content: unknown) => ({ type: 'bulletList', content: [{ type: 'listItem', content: [content] }] })
    expect(documentText(doc(list({ type: 'paragraph', content: [text('one')] })))).toBe('- one')
    let deep: unknown = { type: 'paragraph', content: [text('deep')] }
    for (let level = 0; level < 10_000; level++) deep = { type: 'blockquote', content: [deep] }
    expect(documentText(doc({ type: 'paragraph', content: [text('above')] }, deep, text('below')))).toBe('above\nbelow')
  })

  it('ends after some thousand characters and nodes', () => {
    const long = documentText(doc(...Array.from({ length: 100_000 }, () => text('word '))))
    expect(long.length).toBeGreaterThan(4000)
    expect(long.length).toBeLessThan(12_000)
    expect(documentText(doc(text('x'.repeat(1_000_000)))).length).toBeLessThan(12_000)
    const blank = Array.from({ length: 100_000 }, () => ({ type: 'blockquote', content: [] }))
    expect(documentText(doc(...blank, text('after all')))).toBe('')
  })
})
