// A full disk: writes are refused, no acknowledged run is lost, and the store recovers when there is space again.
import { type ChildProcess, execFileSync, fork } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from './open-store.ts'
import { silent, url } from './acknowledging.ts'
import type { Answer, Request } from './answering.ts'

let dir: string
let child: ChildProcess
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-full-'))
  child = fork(join(import.meta.dirname, 'answering.ts'), [dir], { execArgv: [] })
  await once(child, 'message')
})
afterEach(async () => {
  const gone = once(child, 'exit')
  if (child.kill('SIGKILL')) await gone
  await rm(dir, { recursive: true })
})

async function askAtOnce(...requests: Request[]): Promise<Answer[]> {
  const answered = once(child, 'message')
  child.send(requests)
  return ((await answered) as [Answer[]])[0]
}

const ask = async (request: Request): Promise<Answer> => (await askAtOnce(request))[0]!

/** Makes the kernel refuse to let any file of the child process grow beyond this size. */
const limitFiles = (bytes: number | 'unlimited') =>
  execFileSync('prlimit', ['--pid', String(child.pid), `--fsize=${bytes}:unlimited`])

describe('a full disk', () => {
  it('rejects writes with store_unavailable, still reads, and recovers when there is space', async () => {
    const acknowledged: string[] = []
    const acceptUntilRefused = async (max: number) => {
      for (let n = 0; n < max; n += 1) {
        const id = `run-${acknowledged.length}-${n}`
        const answer = await ask({ accept: id })
        if (answer !== 'accepted') return answer
        acknowledged.push(id)
      }
      return 'never refused'
    }
    expect(await acceptUntilRefused(20)).toBe('never refused')
    limitFiles(200_000)
    expect(await acceptUntilRefused(500)).toBe('store_unavailable')
    expect(await ask({ accept: 'refused' })).toBe('store_unavailable')
    expect(await ask('probe')).toBe('store_unavailable')
    expect(await ask({ read: acknowledged.at(-1)! })).toBe('found')
    expect(await askAtOnce({ accept: 'refused too' }, { read: acknowledged[0]! })).toEqual([
      'store_unavailable',
      'found',
    ])
    limitFiles('unlimited')
    expect(await ask('probe')).toBe('accepted')
    expect(await acceptUntilRefused(20)).toBe('never refused')
    expect(await ask('logged')).toBe('the store cannot be written,the store can be written again')

    child.kill('SIGKILL')
    await once(child, 'exit')
    const store = await openStore({ url, dir, log: silent })
    const missing = await Promise.all(acknowledged.map(async (id) => ((await store.getRun(id)) ? [] : [id])))
    expect(missing.flat()).toEqual([])
    await store.close()
  })
})
