// Tests whom the time limit of transforms stops when many of them run in one process.
import { expect, it } from 'vitest'
import { run, startSandbox } from '../start-sandbox.ts'

const files = {
  'spin.js': `export default ({ payload }) => {
    for (const end = Date.now() + payload.ms; Date.now() < end;);
    return null
  }`,
  'echo.js': `export default ({ payload }) => ({ text: payload.text })`,
}

it('counts no time in which others are executed', async () => {
  const { sandbox } = startSandbox(files)
  const spin = sandbox.load('spin.js', { timeoutMs: 1000 })
  const results = await Promise.all(Array.from({ length: 12 }, () => run(spin, { ms: 150 })))
  expect(results.map(({ result }) => result)).toEqual(Array(12).fill(null))
})

// It starts about twenty processes.
it(
  'blames the run that exceeded it, not the one that began while the process was killed',
  { timeout: 120_000 },
  async () => {
    const { sandbox } = startSandbox(files)
    const spin = sandbox.load('spin.js', { timeoutMs: 40 })
    const echo = sandbox.load('echo.js', { timeoutMs: 20_000 })
    await Promise.all([spin.ready, echo.ready])
    let stopped = 0
    // From those that end in time, over those that end by themselves when they are stopped, to those that are stopped.
    for (let ms = 50; stopped < 8; ms++) {
      const spun = run(spin, { ms }).catch(() => stopped++)
      const echoes = Array.from({ length: 6 }, () => run(echo, { text: 'a' }))
      for (const { result } of await Promise.all(echoes)) expect(result).toEqual({ text: 'a' })
      await spun
      // A success keeps it from being disabled.
      await run(spin, { ms: 0 })
    }
  },
)
