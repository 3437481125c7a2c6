// Tests that files stay watched whatever happens to their folders.
import { mkdirSync, renameSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { createFileWatch, seeFiles } from '../../../core/config/file/watch.ts'
import { temporaryFolder } from '../../helpers.ts'

/** Follows the file `folder/file`, and counts the changes that it reports. */
function follow(dir: string) {
  const path = join(dir, 'folder', 'file')
  mkdirSync(join(dir, 'folder'))
  writeFileSync(path, '0')
  let changes = 0
  const watch = createFileWatch({
    onChange: () => {
      changes++
      watch.follow(seeFiles([path]))
    },
    pollMs: 20,
  })
  onTestFinished(watch.close)
  watch.follow(seeFiles([path]))
  return { path, changes: () => changes }
}

it('finds a file whose folder is removed, and created again later', async () => {
  const dir = temporaryFolder()
  const { path, changes } = follow(dir)
  renameSync(join(dir, 'folder'), join(dir, 'gone'))
  await expect.poll(changes).toBe(1)
  mkdirSync(join(dir, 'folder'))
  writeFileSync(path, '1')
  await expect.poll(changes).toBe(2)
})

it('finds a file behind two links, of which the first one changes', async () => {
  const dir = temporaryFolder()
  const { path, changes } = follow(dir)
  for (const name of ['one', 'two']) mkdirSync(join(dir, name))
  writeFileSync(join(dir, 'one', 'file'), '1')
  writeFileSync(join(dir, 'two', 'file'), '2')
  mkdirSync(join(dir, 'links'))
  symlinkSync(join(dir, 'one', 'file'), join(dir, 'links', 'file'))
  symlinkSync(join(dir, 'links', 'file'), `${path}-new`)
  renameSync(`${path}-new`, path)
  await expect.poll(changes).toBe(1)
  symlinkSync(join(dir, 'two', 'file'), join(dir, 'links', 'file-new'))
  renameSync(join(dir, 'links', 'file-new'), join(dir, 'links', 'file'))
  await expect.poll(changes).toBe(2)
})
