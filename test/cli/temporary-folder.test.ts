// Tests the temporary folder of commands that write archives.
import { readdirSync, writeFile } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
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
