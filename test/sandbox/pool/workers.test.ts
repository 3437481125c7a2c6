// The processes of the sandbox: they start when they are needed and end when they are not.
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { type RunningGateway, startGateway, temporaryFolder } from '../../helpers.ts'
import { run, startSandbox } from '../start-sandbox.ts'

/** Reads the ids of the processes that this one has started. */
const listChildren = (): string[] => readdirSync('/proc/self/task').flatMap(listChildrenOf)

function listChildrenOf(thread: string): string[] {
  try {
    return readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean)
  } catch {
    // The thread has ended meanwhile. The children of an ended thread belong to another one.
    return []
  }
}

/** A browser that other tests of this process share is no process of the sandbox. */
const countProcesses = (): number => listChildren().filter((pid) => !isBrowser(pid)).length

function isBrowser(pid: string): boolean {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes('--headless')
  } catch {
    return true
  }
}

const echo = `export default ({ payload }) => ({ text: payload.text })`

/** Starts a gateway and waits until it has tested its transform. */
async function startEcho(): Promise<RunningGateway> {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'transforms', 'echo.js'), echo)
  const mapping = { action: 'wake', wakeMode: 'next-heartbeat', transform: { module: 'echo.js' } }
  const running = await startGateway({ hooks: { mappings: [{ match: { path: 'echo' }, ...mapping }] } }, dir)
  await expect.poll(() => running.logged.some((line) => line.includes('transform loaded'))).toBe(true)
  await expect.poll(countProcesses).toBe(0)
  return running
}

describe('POST to a hook with a transform', () => {
  it('starts the process with the first request, and one on standby', async () => {
    const { post } = await startEcho()
    expect((await post('/hooks/echo', { text: 'first' })).status).toBe(200)
    await expect.poll(countProcesses).toBe(2)
  })

  it('answers a hundred requests at once while no process runs', async () => {
    const { post } = await startEcho()
    const answers = await Promise.all(Array.from({ length: 100 }, (_, n) => post('/hooks/echo', { text: `n ${n}` })))
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]))
    await expect.poll(countProcesses).toBe(2)
  })

  it('leaves no process when the gateway stops while the first one starts', async () => {
    const { post, gateway } = await startEcho()
    const answer = post('/hooks/echo', { text: 'last' })
    while (countProcesses() === 0) await setImmediate()
    await gateway.close()
    expect(countProcesses()).toBe(0)
    expect((await answer).status).toBe(200)
  })
})

describe('the sandbox', () => {
  it('ends its processes when no call has come for a while, and starts them again', async () => {
    const { sandbox } = startSandbox({ 'echo.js': echo }, { idleMs: 50 })
    const handle = sandbox.load('echo.js')
    for (const text of ['one', 'two', 'three']) {
      expect((await run(handle, { text })).result).toEqual({ text })
      await expect.poll(countProcesses).toBe(0)
      expect(sandbox.status().processes).toEqual([])
    }
  })

  it('keeps them while a call is running', async () => {
    const slow = `export default ({ payload }) => { for (const end = Date.now() + payload; Date.now() < end;); }`
    const { sandbox, lines } = startSandbox({ 'slow.js': slow }, { idleMs: 100 })
    const handle = sandbox.load('slow.js', { timeoutMs: 5000 })
    await run(handle, 0)
    const pids = sandbox.status().processes
    await Promise.all([run(handle, 300), run(handle, 0)])
    expect(sandbox.status().processes).toEqual(pids)
    expect(lines.filter(({ level }) => level !== 'info')).toEqual([])
  })

  it('loses no call that comes while its last process ends', async () => {
    const { sandbox } = startSandbox({ 'echo.js': echo }, { idleMs: 20 })
    const handle = sandbox.load('echo.js')
    let ending = 0
    for (const text of ['one', 'two', 'three', 'four']) {
      expect((await run(handle, { text })).result).toEqual({ text })
      while (sandbox.status().processes.length > 0) await setImmediate()
      // It was killed in this turn of the event loop, so its end has hardly ever been noticed yet.
      ending += countProcesses()
    }
    expect(ending).toBeGreaterThan(0)
  })

  it('compiles nothing before the gateway has started, or if its start fails', async () => {
    const started = Promise.withResolvers<void>()
    const startAfter = started.promise
    const [first, failed] = [startSandbox({ 'echo.js': echo }, { startAfter }), startSandbox({}, { startAfter })]
    const handle = first.sandbox.load('echo.js')
    const late = failed.sandbox.load('echo.js')
    await failed.sandbox.close()
    await setImmediate()
    expect([countProcesses(), handle.state().state]).toEqual([0, 'loading'])
    started.resolve()
    expect((await run(handle, { text: 'one' })).result).toEqual({ text: 'one' })
    expect([late.state().state, failed.lines]).toEqual(['loading', []])
  })

  it('leaves no process when it is closed while it compiles, tests or starts a transform', async () => {
    for (const wanted of [1, 2, 3]) {
      const { sandbox } = startSandbox({ 'echo.js': echo })
      const failing = run(sandbox.load('echo.js')).catch((error: unknown) => error)
      const started = new Set<string>()
      while (started.size < wanted) {
        await setImmediate()
        for (const pid of listChildren()) started.add(pid)
      }
      await sandbox.close()
      expect(countProcesses()).toBe(0)
      expect(await failing).toBeInstanceOf(Error)
    }
  })
})
