// Tests that none of 300 hostile texts runs, loads or breaks the layout of the control page.
import { it } from 'vitest'
import { manyPayloads } from '../page/hostile-payloads.ts'
import { sharePages } from '../page/open-page.ts'
import { showHostile } from '../page/show-hostile.ts'

const pages = sharePages()

// In parts, because the page lists the newest 200 records.
const size = 43
const parts = Array.from({ length: Math.ceil(manyPayloads.length / size) }, (_, index) => index * size)

it.each(parts)('shows hostile text as text, from number %i on', async (start) => {
  await showHostile(pages, manyPayloads.slice(start, start + size))
})
