// Tests the warnings about the configuration in use, over HTTP.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { startGateway, writeConfig } from '../helpers.ts'

it('GET /api/config/warnings lists what check warns about, anew after each reload', async () => {
  const { gateway, get, dir } = await startGateway()
  const warnings = async () => (await get('/api/config/warnings')).body.items as object[]
  expect(await warnings()).toEqual([])
  writeConfig(dir, { tools: { deny: ['no_such_tool'] } })
  await gateway.reload()
  const warning = { path: 'tools.deny', line: expect.any(Number), problem: expect.stringContaining('no_such_tool') }
  await expect.poll(warnings).toEqual([warning])
  writeFileSync(join(dir, 'gateway.json5'), '{ broken')
  await expect(gateway.reload()).rejects.toThrow()
  expect(await warnings()).toEqual([warning])
  writeConfig(dir)
  await gateway.reload()
  await expect.poll(warnings).toEqual([])
})
