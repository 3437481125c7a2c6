// Runs that exceed their time limit by more and more, while others run in the same process and begin while it is killed.
import { expect } from 'vitest'
import { run, startSandbox } from '../start-sandbox.ts'

export const files = {
  'spin.js': `export default ({ payload }) => {
    for (const end = Date.now() + payload.ms; Date.now() < end;);
    return null
  }`,
  'echo.js': `export default ({ payload }) => ({ text: payload.text })`,
}

/** Ends when so many runs were stopped. Each of them costs a process or two. */
export async function expectBlame({ stops }: { stops: number }): Promise<void> {
  const { sandbox } = startSandbox(files)
  const spin = sandbox.load('spin.js', { timeoutMs: 40 })
  const echo = sandbox.load('echo.js', { timeoutMs: 20_000 })
  await Promise.all([spin.ready, echo.ready])
  let stopped = 0
  // From those that end in time, over those that end by themselves when they are stopped, to those that are stopped.
  for (let ms = 50; stopped < stops; ms++) {
    const spun = run(spin, { ms }).catch(() => stopped++)
    const echoes = Array.from({ length: 6 }, () => run(echo, { text: 'a' }))
    for (const { result } of await Promise.all(echoes)) expect(result).toEqual({ text: 'a' })
    await spun
    // A success keeps it from being disabled.
    await run(spin, { ms: 0 })
  }
}
