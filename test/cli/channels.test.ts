// The commands `channels list`, `login` and `logout` against a running gateway.
import { execFile } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'

const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))

it('channels lists, links and unlinks an account, and no code is logged', async () => {
  const config = writeConfig(temporaryFolder(), { plugins: [phone], channels: { phone: { token: 'token-of-phone' } } })
  const gateway = await spawnGateway(config)
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'channels', ...args, '--config', config])
    return stdout
  }
  try {
    expect(await run('list')).toMatch(/^phone {9}default {7}login_required {2}20.* {2}The phone is not linked\.$/m)
    const shown = await run('login', 'phone')
    expect(shown).toMatch(/^█+\n██ ▄▄▄▄▄ █/)
    expect(shown).toMatch(/Scan this code with the app\..*\n(.*\n)*The account default of phone is linked\.\n$/)
    expect(await run('list', '--json')).toContain('"state":"connected"')
    expect(await run('logout', 'phone')).toBe('phone is unlinked.\n')
    await expect(run('login', 'console')).rejects.toThrow('The channel "console" needs no login.')
    expect([...gateway.log, ...gateway.output].filter((line) => line.includes('secret'))).toEqual([])
  } finally {
    await gateway.end('SIGTERM')
  }
})
