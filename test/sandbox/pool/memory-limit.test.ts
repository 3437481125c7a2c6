// Tests whom the memory limit of transforms stops when several of them run in one process.
import { readFileSync } from 'node:fs'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { readResidentMb } from '../../../core/sandbox/pool/limits.ts'
import { faultOf, run, startSandbox } from '../start-sandbox.ts'

/** Longer than the time between two checks of the limits. */
const spin = `for (const end = Date.now() + 400; Date.now() < end;);`
const files = {
  // What a run leaves stays in the process.
  'keep.js': `const kept = []
    export default ({ payload }) => {
      kept.push(new Uint8Array(payload.mb * 1048576).fill(1))
      return null
    }`,
  'slow.js': `export default () => { ${spin} return { text: 'slow' } }`,
  'slow-to-load.js': `${spin} export default () => ({ text: 'slow' })`,
}
const rssMb = 200
const timeoutMs = 30_000

/** Keeps this process busy, so that it checks no limits, until the other one exceeds its limit and has nothing to do. */
function blockUntilExceeded(pid: number | undefined): void {
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  for (const end = Date.now() + timeoutMs; Date.now() < end; Atomics.wait(sleeper, 0, 0, 100)) {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1')
    if (readResidentMb(status) > rssMb && /^State:\s+S/m.test(status)) return
  }
}

describe.runIf(process.platform === 'linux')('the memory limit', () => {
  it.for(['run', 'load'])('does not blame a %s for what an earlier run left', async (kind) => {
    const { sandbox, lines } = startSandbox(files, { rssMb })
    const keep = sandbox.load('keep.js', { timeoutMs })
    const slow = sandbox.load(kind === 'run' ? 'slow.js' : 'slow-to-load.js', { timeoutMs })
    await Promise.all([keep.ready, slow.ready])
    await run(keep, { mb: 0 })
    if (kind === 'run') await run(slow)
    const kept = run(keep, { mb: 170 })
    await setImmediate()
    blockUntilExceeded(sandbox.status().processes[0]?.pid)
    expect((await kept).result).toBe(null)
    expect((await run(slow)).result).toEqual({ text: 'slow' })
    const endings = lines.filter(({ message }) => message === 'a sandbox process ended')
    expect(endings.map(({ fields }) => fields['reason'])).toEqual(['memory'])
  })

  it('does not blame a module for what the one that was tried out before it left', async () => {
    const large = `const kept = new Uint8Array(110 * 1048576).fill(1)
      ${spin}
      export default () => ({ text: String(kept.length) })`
    const { sandbox } = startSandbox({ 'first.js': large, 'second.js': large }, { rssMb })
    const both = [sandbox.load('first.js', { timeoutMs }), sandbox.load('second.js', { timeoutMs })]
    await Promise.all(both.map(({ ready }) => ready))
    expect(both.map((transform) => transform.state().problem)).toEqual([undefined, undefined])
  })

  it('blames the run that exceeds it', async () => {
    const { sandbox } = startSandbox(files, { rssMb })
    const keep = sandbox.load('keep.js', { timeoutMs })
    await keep.ready
    expect((await faultOf(run(keep, { mb: 1500 }))).fault).toBe('memory')
  })
})
