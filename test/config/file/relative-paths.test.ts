// Resolving paths relative to the configuration directory.
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readConfigFile } from '../../../core/config/file/read.ts'
import { resolveConfig } from '../../../core/config/resolve.ts'
import { loadExtensions } from '../../../core/loader/registry.ts'
import { createTestContext } from '../../contracts.ts'

it('makes relative paths absolute, also in accounts, and keeps other strings', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'paths-'))
  await mkdir(join(dir, 'sub'))
  const file = join(dir, 'sub', 'gateway.json5')
  const channel = {
    file: 'out/a.jsonl',
    defaultTo: 'ops',
    accounts: { b: { file: '../b.jsonl' }, c: { file: '/tmp/c.jsonl' } },
  }
  await writeFile(
    file,
    JSON.stringify({ gateway: { auth: { token: 'x'.repeat(24) } }, channels: { console: channel } }),
    { mode: 0o600 },
  )
  const document = readConfigFile(file)
  const { config } = resolveConfig(
    document,
    await loadExtensions({ plugins: [], dir: document.dir, log: createTestContext().log }),
  )
  expect(config.channels['console']).toMatchObject({
    file: join(dir, 'sub', 'out/a.jsonl'),
    defaultTo: 'ops',
    accounts: { b: { file: join(dir, 'b.jsonl') }, c: { file: '/tmp/c.jsonl' } },
  })
  await rm(dir, { recursive: true })
})
