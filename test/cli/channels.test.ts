// The commands `channels list`, `login` and `logout` against a running gateway.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it } from 'vitest'
import { gatewayToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'

const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))

it('Ctrl-C in channels login ends the login on the gateway', async () => {
  const config = writeConfig(temporaryFolder(), { plugins: [phone], channels: { phone: { token: 'hold-the-login' } } })
  const gateway = await spawnGateway(config)
  try {
    const login = spawn(process.execPath, [program, 'channels', 'login', 'mobile', '--config', config])
    const [shown] = (await once(login.stdout, 'data')) as [Buffer]
    expect(String(shown)).toContain('██')
    login.kill('SIGINT')
    const [ended] = await Promise.all([once(login, 'exit'), once(login.stderr, 'data')])
    expect(ended).toEqual([1, null])
    const response = await fetch(`${gateway.url}/api/channels/phone/login`, {
      headers: { authorization: `Bearer ${gatewayToken}` },
    })
    expect(await response.json()).toMatchObject({ status: 'failed', reason: expect.stringContaining('ended') })
  } finally {
    await gateway.end('SIGTERM')
  }
})

it('channels lists, links and unlinks an account, and no code is logged', async () => {
  const config = writeConfig(temporaryFolder(), { plugins: [phone], channels: { phone: { token: 'log-the-codes' } } })
  const gateway = await spawnGateway(config)
  const run = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'channels', ...args, '--config', config])
    return stdout
  }
  try {
    expect(await run('list')).toMatch(/^phone {4}default {2}login_required {2}20.* {2}The phone is not linked\.$/m)
    const shown = await run('login', 'phone')
    expect(shown).toMatch(/^█+\n██ ▄▄▄▄▄ █/)
    expect(shown).toMatch(/Scan this code with the app\..*\n(.*\n)*The account default of phone is linked\.\n$/)
    expect(await run('list', '--json')).toContain('"state":"connected"')
    expect(await run('logout', 'phone')).toBe('phone is unlinked.\n')
    await expect(run('login', 'console')).rejects.toThrow('The channel "console" needs no login.')
    const lines = [...gateway.log, ...gateway.output]
    expect(lines.filter((line) => line.includes('the phone has scanned [redacted]'))).toHaveLength(3)
    expect(lines.filter((line) => line.includes('secret'))).toEqual([])
  } finally {
    await gateway.end('SIGTERM')
  }
})
