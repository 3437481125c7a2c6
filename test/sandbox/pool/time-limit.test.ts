// Tests whom the time limit of transforms stops when many of them run in one process.
import { expect, it } from 'vitest'
import { run, startSandbox } from '../start-sandbox.ts'
import { expectBlame, files } from './blame.ts'

it('counts no time in which others are executed', async () => {
  const { sandbox } = startSandbox(files)
  const spin = sandbox.load('spin.js', { timeoutMs: 1000 })
  const results = await Promise.all(Array.from({ length: 12 }, () => run(spin, { ms: 150 })))
  expect(results.map(({ result }) => result)).toEqual(Array(12).fill(null))
})

it('blames the run that exceeded it, not the one that began while the process was killed', async () => {
  await expectBlame({ stops: 3 })
})
