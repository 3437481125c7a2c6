// Builds a checkout twice at once, as two starts do.
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { temporaryFolder } from './helpers.ts'

const root = join(import.meta.dirname, '..')
const sources = ['.ci', 'channels', 'core', 'plugins', 'test', 'package.json', 'package-lock.json', 'tsconfig.json']

it('builds one checkout in two processes at once, and both can use the result', async () => {
  const checkout = temporaryFolder()
  for (const path of sources) cpSync(join(root, path), join(checkout, path), { recursive: true })
  symlinkSync(join(root, 'node_modules'), join(checkout, 'node_modules'))
  const buildAndRun = async () => {
    await promisify(execFile)(process.execPath, ['.ci/build.ts', '--if-stale'], { cwd: checkout })
    return await promisify(execFile)(process.execPath, ['dist/main.js', '--version'], { cwd: checkout })
  }
  const [one, other] = await Promise.all([buildAndRun(), buildAndRun()])
  expect(one).toEqual({ stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: '' })
  expect(other).toEqual(one)
  expect(readdirSync(join(checkout, 'dist'))).toEqual(
    expect.arrayContaining(['.built', 'licenses', 'main.js', 'types']),
  )
})
