// The preset of docs/presets.md: extracted from the page, loaded as a plugin, and used.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { hookSchemes } from './hooks/schemes.ts'
import { loadPresets, type LoadedPreset } from './presets/deliver.ts'

const page = await readFile(join(import.meta.dirname, '..', 'docs', 'presets.md'), 'utf8')

describe('docs/presets.md', () => {
  it('lists each preset and each scheme', async () => {
    const names = [...(await loadPresets()).keys()]
    expect(names.filter((name) => !page.includes(`| [\`${name}\`](#`))).toEqual([])
    expect(hookSchemes.filter((scheme) => !new RegExp(`^\\| .*\`${scheme}\`.* \\|`, 'm').test(page))).toEqual([])
  })
})

describe('the preset of docs/presets.md', () => {
  let dir: string
  let uptime: LoadedPreset
  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), 'docs-presets-'))
    await writeFile(join(dir, 'uptime.ts'), /```ts\n(\/\/ uptime\.ts: [\s\S]*?)```/.exec(page)?.[1] ?? '')
    uptime = (await loadPresets({ plugins: ['./uptime.ts'], dir })).get('uptime')!
  })
  afterAll(() => rm(dir, { recursive: true }))

  const check = { id: 7, name: 'Shop', url: 'https://shop.example.com' }

  it('makes messages', () => {
    const message = 'Uptime: Shop is down\nReason: HTTP 502\nhttps://shop.example.com'
    expect(uptime.judge({ event: 'down', check, reason: ' HTTP 502 ' })).toEqual([
      { message, sessionKey: 'hook:uptime:7' },
    ])
    expect(uptime.judge({ event: 'up', check, reason: null })).toEqual([
      { message: 'Uptime: Shop is up again\nhttps://shop.example.com', sessionKey: 'hook:uptime:7' },
    ])
  })

  it('skips other events, and refuses invalid payloads', () => {
    expect(uptime.judge({ event: 'constructor', check })).toBe('skipped')
    expect(uptime.judge({ event: 'down' })).toEqual({ refused: 'check is required' })
  })
})
