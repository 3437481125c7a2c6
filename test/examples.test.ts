// The examples of docs/plugins.md: taken from the page, loaded as plugins, and used.
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { loadExtensions } from '../core/loader/registry.ts'
import { channelContract, createTestContext, providerContract, toolsetContract } from './contracts.ts'
import { startOpenAiChat } from './doubles/openai.ts'
import { openPagerService } from './doubles/pager.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = await readFile(join(root, 'docs', 'plugins.md'), 'utf8')
const examples = [...page.matchAll(/```ts\n(\/\/ ([\w-]+)\.ts: [\s\S]*?)```/g)].map(([, code = '', name = '']) => ({
  name,
  code,
}))

const dir = await mkdtemp(join(tmpdir(), 'examples-'))
await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
for (const { name, code } of examples) await writeFile(join(dir, `${name}.ts`), code)
const extensions = await loadExtensions({
  plugins: examples.map(({ name }) => `./${name}.ts`),
  dir,
  log: createTestContext().log,
})
afterAll(async () => {
  extensions.close()
  await rm(dir, { recursive: true })
})

describe('docs/plugins.md', () => {
  it('has whole examples, and all of them load', () => {
    expect(examples.map(({ name }) => name)).toEqual(['dice', 'notes', 'pager', 'house-models'])
    expect(extensions.problems).toEqual([])
  })

  it('tells what its notepad remembers', async () => {
    const opened = await extensions.toolsets.get('notes')!.open!(
      { longest: 5 },
      { ...createTestContext(), offer: () => undefined },
    )
    const [add, list] = opened.tools
    await add!.execute({ text: 'buy milk' } as never, {} as never)
    expect(await list!.execute({} as never, {} as never)).toEqual(['buy m'])
  })
})

toolsetContract(extensions.toolsets.get('dice')!, {
  calls: [{ tool: 'roll_dice', args: { sides: 6, count: 3 } }],
  refused: [{ tool: 'roll_dice', args: { sides: 1 } }],
})

toolsetContract(extensions.toolsets.get('notes')!, {
  config: { longest: 500 },
  calls: [
    { tool: 'notes_add', args: { text: 'buy milk' }, answer: { ok: true } },
    { tool: 'notes_list', args: {}, answer: [] },
  ],
})

channelContract(extensions.channels.get('pager')!, () => openPagerService({ token: 'secret' }))

providerContract(extensions.providers.get('house-models')!, async () => {
  const wire = await startOpenAiChat()
  wire.script({ text: 'Hello.' })
  return { config: { baseUrl: `${wire.url}/v1`, team: 'support' }, modelId: 'large', close: wire.close }
})
