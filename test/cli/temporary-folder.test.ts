// Tests the temporary folder of commands that write archives.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFile } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withTemporaryFolder } from '../../core/cli/backup/temporary-folder.ts'
import { temporaryFolder } from '../helpers.ts'

it('is removed while threads still create files in it', async () => {
  const dir = temporaryFolder()
  for (let round = 0; round < 5; round++) {
    const written: Promise<void>[] = []
    await withTemporaryFolder(join(dir, 'work-'), '', async (folder) => {
      for (let n = 0; n < 1000; n++)
        written.push(new Promise((resolve) => writeFile(join(folder, String(n)), '', () => resolve())))
    })
    await Promise.all(written)
    expect(readdirSync(dir)).toEqual([])
  }
})

it('is removed at once by a signal, also while a thread reads a store', async () => {
  const dir = temporaryFolder()
  const source = join(import.meta.dirname, '..', '..', 'core', 'cli', 'backup', 'temporary-folder.ts')
  // Counts for minutes, in one call of SQLite.
  const sql = 'WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1e12) SELECT count(*) FROM n'
  const thread = `const { DatabaseSync } = require('node:sqlite')
    require('node:fs').writeSync(1, 'counting')
    new DatabaseSync(':memory:').prepare('${sql}').get()`
  const script = `import { Worker } from 'node:worker_threads'
    import { withTemporaryFolder } from ${JSON.stringify(source)}
    const work = () => new Promise(() => new Worker(${JSON.stringify(thread)}, { eval: true, execArgv: [] }))
    await withTemporaryFolder(${JSON.stringify(join(dir, 'work-'))}, 'It was interrupted.', work)`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', script])
  onTestFinished(() => void child.kill('SIGKILL'))
  const ended = once(child, 'exit')
  let errors = ''
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()))
  await once(child.stdout, 'data')
  expect(readdirSync(dir)).toHaveLength(1)
  child.kill('SIGTERM')
  expect(await ended).toEqual([null, 'SIGTERM'])
  expect(errors).toBe('\nIt was interrupted.\n')
  expect(readdirSync(dir)).toEqual([])
})
