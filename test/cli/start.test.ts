// Tests the command `start`: the output of the first run, and starts that fail.
import { execFile, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { describe, expect, it, onTestFinished } from 'vitest'
import { ask, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'

const command = (...args: string[]) => [program, ...args]

interface Ended {
  code: number | null
  stdout: string
  stderr: string
}

const run = (...args: string[]): Promise<Ended> =>
  new Promise((resolve) => {
    const child = execFile(process.execPath, command(...args), (_error, stdout, stderr) =>
      resolve({ code: child.exitCode, stdout, stderr }),
    )
  })

/** The process id of the gateway of this folder. */
const pidIn = (dir: string): number =>
  JSON.parse(readFileSync(join(dir, 'state', 'gateway.json5.listening'), 'utf8')).pid

describe('the first run', () => {
  it('writes a configuration and prints commands with the tokens in a terminal', async () => {
    const dir = temporaryFolder()
    // `script` runs the command in a terminal and prints its output.
    const terminal = ['-qefc', [process.execPath, ...command('--port', '0')].join(' '), '/dev/null']
    const child = spawn('script', terminal, {
      cwd: dir,
      env: { ...process.env, HOME: dir },
      stdio: ['ignore', 'pipe', 'ignore'],
    })
    const exited = new Promise((resolve) => child.once('exit', resolve))
    onTestFinished(async () => {
      process.kill(pidIn(dir), 'SIGTERM')
      await exited
    })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const next = async (pattern: RegExp): Promise<RegExpExecArray> => {
      for (;;) {
        const { value, done } = await lines.next()
        if (done) throw new Error(`the gateway ended before it printed ${String(pattern)}`)
        const found = pattern.exec(value)
        if (found) return found
      }
    }
    const [, wakeUrl = '', wakeHeader = '', wakeBody = ''] = await next(
      /^ {2}curl -sS (\S+\/hooks\/wake) -H 'Authorization: ([^']+)' -d '([^']+)'$/,
    )
    const [, prefer = '', agentUrl = '', agentHeader = '', agentBody = ''] = await next(
      /^ {2}curl -sS -H 'Prefer: (wait=\d+)' (\S+\/hooks\/agent) -H 'Authorization: ([^']+)' -d '([^']+)'$/,
    )
    const [, runUrl = '', runHeader = ''] = await next(/^ {2}curl -sS (\S+\/runs\/)RUN_ID -H 'Authorization: ([^']+)'$/)

    expect(
      await ask(wakeUrl, { method: 'POST', headers: { authorization: wakeHeader }, body: wakeBody }),
    ).toMatchObject({ status: 200 })
    await next(/^\[console\] console: Received: The backup has failed\./)
    const headers = { authorization: agentHeader, prefer }
    const answered = await ask(agentUrl, { method: 'POST', headers, body: agentBody })
    expect(answered).toMatchObject({ status: 200, body: { ok: true, status: 'succeeded' } })
    expect(answered.body.reply).toContain('Received: Say hello.')
    expect(answered.body).not.toHaveProperty('warnings')
    await next(/^\[console\] console: Received: Say hello\./)
    expect(await ask(`${runUrl}${answered.body.runId}`, { headers: { authorization: runHeader } })).toMatchObject({
      body: { status: 'succeeded' },
    })
    expect(readFileSync(join(dir, 'gateway.json5'), 'utf8')).toContain(runHeader.replace('Bearer ', ''))
  })

  it('prints commands that read the tokens from the file without a terminal', async () => {
    const dir = join(temporaryFolder(), "it's here")
    mkdirSync(dir)
    const child = spawn(process.execPath, command('--port', '0'), {
      cwd: dir,
      env: { ...process.env, HOME: dir },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const written: string[] = []
    child.stderr.on('data', (chunk: Buffer) => void written.push(chunk.toString()))
    child.stdout.on('data', (chunk: Buffer) => void written.push(chunk.toString()))
    await expect.poll(() => written.join('')).toContain('Look up the run')
    child.kill('SIGTERM')
    expect(await once(child, 'close')).toEqual([0, null])
    const file = join(dir, 'gateway.json5')
    const tokens = [...readFileSync(file, 'utf8').matchAll(/token: '([\w-]{20,})'/g)].map(([, token]) => token!)
    expect(tokens).toHaveLength(2)
    for (const token of tokens) expect(written.join('')).not.toContain(token)
    expect(written.join('')).toContain(`This is the first run. The configuration and its new tokens are in ${file}.`)
    expect(written.join('')).toMatch(/curl -sS \S+\/hooks\/wake -H "Authorization: Bearer \$HOOK_TOKEN"/)
    const assignments = written
      .join('')
      .match(/^ {2}\w+_TOKEN=.*$/gm)!
      .join('\n')
    const read = execFileSync('sh', ['-c', `${assignments}\necho "$GATEWAY_TOKEN $HOOK_TOKEN"`], { encoding: 'utf8' })
    expect(read).toBe(`${tokens.join(' ')}\n`)
  })
})

describe('a start with an empty configuration', () => {
  it('prints where the new credential and the state are, and which agent replies', async () => {
    const dir = temporaryFolder()
    const file = join(dir, 'gateway.json5')
    writeFileSync(file, '{}', { mode: 0o600 })
    const gateway = await spawnGateway(file, { args: ['--port', '0'] })
    await expect.poll(() => gateway.output.length).toBe(4)
    expect(await gateway.end('SIGTERM')).toBe(0)
    const token = /token: ?['"]([\w-]+)/.exec(readFileSync(file, 'utf8'))![1]!
    expect(gateway.output).toEqual([
      `The gateway had no credential. A new token was written to ${file}, as gateway.auth.token.`,
      `listening on ${gateway.url}`,
      `The control page is at ${gateway.url}/`,
      `No agent is configured: the agent "main" replies, with the model builtin/rules. Its files are in ` +
        `${dir}/state/workspaces/main; all other state is in ${dir}/state.`,
    ])
    expect(gateway.log.join('')).not.toContain(token)
  })
})

describe('a start that fails', () => {
  it('exits if another program uses the port', async () => {
    const other = createServer().listen(0, '127.0.0.1')
    onTestFinished(() => void other.close())
    await once(other, 'listening')
    const { port } = other.address() as AddressInfo
    const ended = await run('--config', writeConfig(temporaryFolder()), '--port', String(port))
    expect(ended).toMatchObject({ code: 1, stdout: '' })
    expect(ended.stderr).toBe(
      `Port ${port} is used by another program; stop it, or choose another port with --port or gateway.port.\n`,
    )
  })

  it.each(['192.0.2.1', 'no-such-host.invalid'])('exits if the machine has no address %s', async (bind) => {
    const ended = await run('--config', writeConfig(temporaryFolder(), { gateway: { bind } }))
    expect(ended.code).toBe(1)
    expect(ended.stderr).toBe(
      'gateway.bind is not an address of this machine; use 127.0.0.1, 0.0.0.0 or one of its addresses.\n',
    )
  })

  it('reports an unknown command', async () => {
    const ended = await run('chekc')
    expect(ended.code).toBe(1)
    expect(ended.stderr).toContain('There is no command "chekc"; did you mean "check"?')
  })
})

describe('the log of a start', () => {
  it('warns if webhooks are off and if everybody can read the file', async () => {
    const file = join(temporaryFolder(), 'gateway.json5')
    writeFileSync(file, '{ gateway: { port: 0, auth: { token: "gateway-token-of-the-tests-0123456789" } } }')
    chmodSync(file, 0o644)
    const gateway = await spawnGateway(file)
    expect(await gateway.end('SIGTERM')).toBe(0)
    for (const line of ['chmod 600', 'webhooks are disabled; set hooks.enabled to enable them'])
      expect(gateway.log.join('\n')).toContain(line)
  })
})

describe('a start with a plugin that is refused', () => {
  it('ignores its sections with a warning', async () => {
    const dir = temporaryFolder()
    const file = join(dir, 'gateway.json5')
    writeFileSync(join(dir, 'up.mjs'), 'export default {')
    const up = {
      tools: { up: { token: '${UP_TOKEN}' } },
      channels: { up: { token: { file: 'nowhere' } } },
      hooks: { enabled: true, token: 'hook-token-of-the-tests-0123456789', presets: ['up'], up: { minimum: 1 } },
      providers: { up: { kind: 'up', apiKey: 'x' } },
    }
    const own = {
      plugins: ['./up.mjs'],
      gateway: { port: 0, auth: { token: 'gateway-token-of-the-tests-0123456789' } },
    }
    writeFileSync(file, JSON.stringify({ ...own, ...up }), { mode: 0o600 })
    const gateway = await spawnGateway(file)
    const refused = await fetch(`${gateway.url}/hooks/up`, {
      method: 'POST',
      headers: { authorization: `Bearer ${up.hooks.token}` },
    })
    expect(await gateway.end('SIGTERM')).toBe(0)
    expect(refused.status).toBe(404)
    const log = gateway.log.join('\n')
    for (const path of ['tools.up', 'channels.up', 'hooks.up', 'hooks.presets[0]', 'providers.up'])
      expect(log).toContain(`${path} is ignored, because a plugin was refused that it may belong to`)
    expect(log).toContain('The plugin \\"./up.mjs\\" was refused')
  })
})
