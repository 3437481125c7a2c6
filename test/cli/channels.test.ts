// The commands `channels list`, `login` and `logout` against a running gateway.
import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'
import { startReachable } from './reachable-gateway.ts'

const phone = fileURLToPath(new URL('../fixtures/phone/phone.mjs', import.meta.url))

const writePhone = (token: string) =>
  writeConfig(temporaryFolder(), { plugins: [phone], channels: { phone: { token } } })

async function startPhone(token: string) {
  const config = writePhone(token)
  return { config, ...(await startReachable(config)) }
}

const holding = share(() => startPhone('hold-the-login'))

it.each([
  { options: [], expected: /^█+\n/ },
  { options: ['--json'], expected: /^\{"type":"code","qr":"code-one-secret"\}\n$/ },
])('Ctrl-C in channels login $options ends the login on the gateway', async ({ options, expected }) => {
  const { config, get } = holding()
  const login = spawn(process.execPath, [program, 'channels', 'login', 'mobile', '--config', config, ...options])
  let shown = ''
  login.stdout.setEncoding('utf8').on('data', (text: string) => (shown += text))
  await once(login.stdout, 'data')
  login.kill('SIGINT')
  const [ended] = await Promise.all([once(login, 'exit'), once(login.stderr, 'data')])
  expect(ended).toEqual([1, null])
  expect(shown).toMatch(expected)
  const { body } = await get('/api/channels/phone/login')
  expect(body).toMatchObject({ status: 'failed', reason: expect.stringContaining('ended') })
})

it('channels login and logout print JSON lines with --json', async () => {
  const { config } = await startPhone('any')
  const channels = (...args: string[]) => run(dirname(config), ['channels', ...args, '--config', config, '--json'])
  const login = await channels('login', 'phone')
  expect(login).toMatchObject({ code: 0, stderr: '' })
  const lines = login.stdout.trimEnd().split('\n')
  const printed = lines.map((line) => JSON.parse(line) as { qr?: string })
  const codes = printed.slice(0, -1)
  expect(codes[0]).toEqual({ type: 'code', qr: 'code-one-secret' })
  expect(new Set(codes.map(({ qr }) => qr)).size).toBe(codes.length)
  expect(printed.at(-1)).toEqual({ type: 'result', ok: true, account: 'default', status: 'linked' })
  const logout = await channels('logout', 'phone')
  expect({ ...logout, stdout: JSON.parse(logout.stdout) as unknown }).toEqual({
    code: 0,
    stdout: { ok: true },
    stderr: '',
  })
  const needless = { code: 1, stdout: '', stderr: 'The channel "console" needs no login.\n' }
  expect(await channels('login', 'console')).toEqual(needless)
  expect(await channels('logout', 'console')).toEqual(needless)
})

it('channels login shows an address and asks, and reads the answers from standard input', async () => {
  const config = writePhone('ask-in-a-browser')
  const gateway = await spawnGateway(config)
  onTestFinished(async () => void (await gateway.end('SIGTERM')))
  const login = await run(dirname(config), ['channels', 'login', 'phone', '--config', config], {
    input: 'open sesame\n4711\n',
  })
  expect(login).toEqual({
    code: 0,
    stdout:
      'Open this address in a browser: https://phone.example/device?user_code=code-one-secret\n' +
      'Enter this code there: code-one-secret\nThe account default of phone is linked.\n',
    stderr: 'Password of the phone\nCode from the app\n',
  })
  const lines = [...gateway.log, ...gateway.output]
  expect(lines.filter((line) => line.includes('the phone has heard [redacted]'))).toHaveLength(1)
  expect(lines.filter((line) => /sesame|code-one/.test(line))).toEqual([])
})

it('channels login ends the login on the gateway if there is no answer', async () => {
  const config = writePhone('ask-in-a-browser')
  const { get } = await startReachable(config)
  const login = await run(dirname(config), ['channels', 'login', 'phone', '--config', config, '--json'], { input: '' })
  expect(login).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('{"type":"question","text":"Password of the phone","secret":true}\n'),
    stderr: expect.stringContaining('This needs an answer; run the command in a terminal'),
  })
  expect((await get('/api/channels/phone/login')).body).toMatchObject({ status: 'failed' })
})

it('channels lists, links and unlinks an account, and no code is logged', async () => {
  const config = writePhone('log-the-codes')
  const gateway = await spawnGateway(config)
  const channels = async (...args: string[]) => {
    const { stdout } = await promisify(execFile)(process.execPath, [program, 'channels', ...args, '--config', config])
    return stdout
  }
  try {
    expect(await channels('list')).toMatch(/^phone {4}default {2}login_required {2}20.* {2}The phone is not linked\.$/m)
    const shown = await channels('login', 'phone')
    expect(shown).toMatch(/^█+\n██ ▄▄▄▄▄ █/)
    expect(shown).toMatch(/Scan this code with the app\..*\n(.*\n)*The account default of phone is linked\.\n$/)
    expect(await channels('list', '--json')).toContain('"state":"connected"')
    expect(await channels('logout', 'phone')).toBe('phone is unlinked.\n')
    await expect(channels('login', 'console')).rejects.toThrow('The channel "console" needs no login.')
    const lines = [...gateway.log, ...gateway.output]
    expect(lines.filter((line) => line.includes('the phone has scanned [redacted]'))).toHaveLength(3)
    expect(lines.filter((line) => line.includes('secret'))).toEqual([])
  } finally {
    await gateway.end('SIGTERM')
  }
})
