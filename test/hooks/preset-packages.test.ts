// The npm packages of a preset: what the job, the check and the setup say if one is missing.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { run } from '../cli/command-line.ts'
import { startGateway, temporaryFolder, writeConfig } from '../helpers.ts'

const preset = `
import { definePreset, Type } from 'svc-gateway/plugin'
export default definePreset({
  name: 'feed',
  description: 'A feed.',
  payload: Type.Object({}),
  mapping: {},
  packages: () => ({ '@x/feed': '1.2.3' }),
  start: async () => await import('@x/feed'),
  setup: { answers: Type.Object({}), run: async () => await import('@x/feed') },
})
`
const missing = 'needs the package @x/feed; run: npm i @x/feed@1.2.3'
const sections = { plugins: ['./feed.ts'], hooks: { presets: ['feed'] } }

function prepare(): string {
  const dir = temporaryFolder()
  writeFileSync(join(dir, 'feed.ts'), preset)
  return dir
}

it('the job of a preset does not start without its packages, and says which command installs them', async () => {
  const { gateway, get, logged } = await startGateway(sections, prepare())
  await expect
    .poll(async () => (await get('/api/extensions')).body.jobs)
    .toMatchObject([{ preset: 'feed', state: 'failing', reason: `The preset "feed" ${missing}` }])
  await gateway.reload()
  await expect.poll(() => logged.join('\n')).toContain(`hooks.feed ${missing}`)
})

it('check and the setup name the command, too', async () => {
  const dir = prepare()
  const file = writeConfig(dir, sections)
  const check = await run(dir, ['check', '--config', file])
  expect([check.code, check.stderr]).toEqual([0, expect.stringContaining(`hooks.feed ${missing}`)])
  const setup = await run(dir, ['presets', 'setup', 'feed', '--config', file])
  expect(setup).toMatchObject({ code: 1, stdout: '', stderr: `The preset "feed" ${missing}\n` })
})
