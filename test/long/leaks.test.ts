// Tests that a runtime closes what it opened: after a reload, after a failed reload, and after a failed start.
import { once } from 'node:events'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { defineToolset } from '../../core/plugin/plugin.ts'
import { openToolRegistry } from '../../core/tools/registry.ts'
import { createTestContext } from '../contracts/context.ts'
import { temporaryFolder } from '../helpers.ts'
import { countResources, countServers, createFragileGateway, fixtures, mcpTools } from '../reliability/runtimes.ts'

const fails = (work: Promise<unknown>): Promise<boolean> =>
  work.then(
    () => false,
    () => true,
  )

describe('a reload', () => {
  it('that fails at any step of building the runtime leaks nothing', async () => {
    const running = await createFragileGateway({ tools: mcpTools('first') })
    await running.gateway.listen()
    await running.connected()
    let failures = 0
    while (await fails(running.reload({ tools: mcpTools('next') }, failures + 1))) {
      failures++
      expect(countServers()).toBe(1)
    }
    // Each logger that the build asks for is one step.
    expect(failures).toBeGreaterThan(8)
    await expect.poll(countServers).toBe(1)
  })

  it('keeps the old configuration when it fails, including its MCP server and its wakes', async () => {
    const running = await createFragileGateway({ tools: mcpTools('first') })
    await running.gateway.listen()
    await running.connected()
    for (let step = 1; step < 8; step++)
      expect(await fails(running.reload({ tools: mcpTools('next') }, step))).toBe(true)
    await running.connected()
    await running.wake('something new')
    const beats = () =>
      running.logged.filter((line) => line.includes('"kind":"heartbeat"') && line.includes('run ended')).length
    await expect.poll(beats).toBe(1)
  })

  it('closes what the old configuration had opened, however often it is repeated', { timeout: 120_000 }, async () => {
    const dir = temporaryFolder()
    for (const { file, text } of fixtures(dir)) {
      mkdirSync(dirname(file), { recursive: true })
      writeFileSync(file, text)
    }
    const running = await createFragileGateway({ tools: mcpTools(0) }, { dir })
    await running.gateway.listen()
    const round = async (mark: number): Promise<void> => {
      const folder = mark % 2 === 0 ? 'transforms' : 'transforms/other'
      const mappings = [
        {
          id: 'echo',
          match: { path: 'echo' },
          action: 'wake',
          wakeMode: 'next-heartbeat',
          transform: { module: 'echo.ts' },
        },
      ]
      await running.reload({ tools: mcpTools(mark), hooks: { transformsDir: folder, mappings } })
      await running.connected()
      expect(await running.post('/hooks/echo', { text: `round ${mark}` })).toMatchObject({ status: 200 })
    }
    for (let mark = 1; mark <= 2; mark++) await round(mark)
    await expect.poll(countServers).toBe(1)
    await expect.poll(() => countResources().processes).toBe(1 + sandboxProcesses)
    const before = countResources()
    for (let mark = 3; mark <= 22; mark++) await round(mark)
    await expect.poll(countServers).toBe(1)
    await expect.poll(() => countResources().processes).toBe(before.processes)
    await expect.poll(() => countResources().listeners).toBe(before.listeners)
    // The connections of the test's client vary, so only one leaked file per round counts as a leak.
    await expect.poll(() => countResources().files).toBeLessThan(before.files + 10)
  })
})

/** One sandbox process serves, and one is on standby. */
const sandboxProcesses = 2

describe('a start', () => {
  it('that fails while the runtime is built releases the store for the next start', { timeout: 120_000 }, async () => {
    const dir = temporaryFolder()
    let failures = 0
    for (;;) {
      const started = await createFragileGateway({ tools: mcpTools('first') }, { dir, failAt: failures + 1 }).catch(
        () => undefined,
      )
      if (started) break
      expect(countServers()).toBe(0)
      failures++
    }
    expect(failures).toBeGreaterThan(15)
  })

  it('that does not get its port leaks nothing', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const dir = temporaryFolder()
    const { port } = other.address() as AddressInfo
    const { gateway } = await createFragileGateway({ gateway: { port }, tools: mcpTools('first') }, { dir })
    await expect(gateway.listen()).rejects.toMatchObject({ code: 'EADDRINUSE' })
    await gateway.close()
    expect(countServers()).toBe(0)
    const next = await createFragileGateway({}, { dir })
    expect(await next.gateway.listen()).toMatch(/^http:/)
  })

  it('starts nothing before it listens', async () => {
    const timers = vi.spyOn(globalThis, 'setInterval')
    onTestFinished(() => timers.mockRestore())
    const { gateway } = await createFragileGateway({})
    expect(timers).not.toHaveBeenCalled()
    await gateway.listen()
    expect(timers).toHaveBeenCalled()
  })
})

describe('a toolset', () => {
  it('that opens too late, or after the start was aborted, is closed at once', async () => {
    const late = Promise.withResolvers<void>()
    const closed = Promise.withResolvers<void>()
    const slow = defineToolset({
      name: 'slow',
      description: 'Opens when it is told to.',
      open: async () => {
        await late.promise
        return { tools: [], close: async () => closed.resolve() }
      },
    })
    const stop = new AbortController()
    const opening = openToolRegistry({
      toolsets: [slow],
      settings: () => ({}),
      context: () => createTestContext(),
      stopping: stop.signal,
    })
    stop.abort(new Error('the gateway stops'))
    const registry = await opening
    expect(registry.problems).toEqual([expect.stringContaining('"slow" is left out')])
    late.resolve()
    await closed.promise
  })
})
