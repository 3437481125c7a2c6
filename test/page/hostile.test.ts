// Tests that nothing that comes from outside runs, loads or breaks the layout of the control page.
import { expect, it } from 'vitest'
import { fewPayloads, manyPayloads } from './hostile-payloads.ts'
import { sharePages } from './open-page.ts'
import { showHostile } from './show-hostile.ts'

const pages = sharePages()

it('shows hostile text as text, in every view and in every field', async () => {
  await showHostile(pages, fewPayloads, 15)
}, 240_000)

it('has 300 hostile texts, which the long tests show', () => {
  expect(new Set(manyPayloads).size).toBe(300)
})
