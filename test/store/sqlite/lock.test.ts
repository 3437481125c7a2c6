// Only one process may open a store.
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openStore } from '../open-store.ts'
import { silent, startAcknowledging, url } from '../acknowledging.ts'

let dir: string
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), 'store-lock-'))
})
afterEach(() => rm(dir, { recursive: true }))

const open = () => openStore({ url, dir, log: silent })

describe('a store that another process has opened', () => {
  it('is refused with the pid of its owner, and opens after the owner is killed', async () => {
    const { child, firstOne, ended } = startAcknowledging(dir)
    await firstOne
    await expect(open()).rejects.toThrow(`is in use by process ${child.pid};`)
    child.kill('SIGKILL')
    await ended
    const store = await open()
    expect(await store.countQueuedRuns()).toBeGreaterThan(0)
    await store.close()
  })

  it('is refused to the same process, too', async () => {
    const store = await open()
    await expect(open()).rejects.toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining(`process ${process.pid};`),
    })
    await expect(open()).rejects.toThrow('is in use')
    await store.close()
    expect(existsSync(join(dir, 'state/gateway.db.pid'))).toBe(false)
    await (await open()).close()
  })
})
