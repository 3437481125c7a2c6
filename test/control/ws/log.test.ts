// Tests the log while a WebSocket client is subscribed to it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { describe, expect, it, onTestFinished } from 'vitest'
import { rawConnection } from '../../http/app.ts'
import { ask, gatewayToken, spawnGateway, startGateway, temporaryFolder, writeConfig } from '../../helpers.ts'
import { login } from '../rpc-client.ts'
import { program } from '../../program.ts'

const quiet = { agents: { defaults: { heartbeat: { every: 0 } } } }
const shortSecrets = {
  providers: {
    local: {
      kind: 'openai-compatible',
      baseUrl: 'http://127.0.0.1:9/v1',
      headers: { debug: '1', verbose: 'true', log: '"' },
    },
  },
}

describe('the log', () => {
  it('reaches a subscriber unchanged when the configuration contains secrets of one character', async () => {
    const { url, logged } = await startGateway({ ...quiet, ...shortSecrets })
    const client = await login(url)
    await client.call('subscribe', { topics: ['log'] })
    const { socket, ended } = rawConnection(Number(new URL(url).port))
    socket.write(`GET / HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(20_000)}\r\n\r\n`)
    expect(await ended).toContain('HTTP/1.1 431 ')
    const { params } = await client.until(({ params }) => params.message === 'request refused')
    expect(params).toMatchObject({
      level: 'info',
      fields: { status: 431, type: 'headers_too_large', client: '127.0.0.1' },
    })
    expect(logged.filter((line) => line.includes('headers_too_large'))).toHaveLength(1)
  })

  it('redacts the secrets of the environment, of the configuration, and of a reloaded configuration', async () => {
    const dir = temporaryFolder()
    const [before, after] = ['hook-token-before-0123456789', 'hook-token-after-0123456789']
    const write = (token: string, level = 'info') =>
      writeConfig(dir, { ...quiet, gateway: { port: 0 }, hooks: { enabled: true, token }, log: { level } })
    const gateway = await spawnGateway(write(before), {
      env: { SVC_GATEWAY_TOKEN: gatewayToken, SVC_GATEWAY_PASSWORD: 'password-of-the-environment' },
    })
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const log = () => gateway.log.join('\n')
    const logPath = async (path: string) => {
      const client = await login(gateway.url)
      await client.call('subscribe', { topics: ['log'] })
      await ask(`${gateway.url}${path}`, {})
      const { params } = await client.until(({ params }) => params.message === 'request refused')
      await expect.poll(log).toContain(JSON.stringify(params.fields).slice(1, -1))
      return params.fields.path
    }
    expect(await logPath(`/a/${gatewayToken}`)).toBe('/a/[redacted]')
    expect(await logPath('/b/password-of-the-environment')).toBe('/b/[redacted]')
    expect(await logPath(`/c/${before}`)).toBe('/c/[redacted]')
    write(after)
    await expect.poll(log).toContain('the configuration was reloaded')
    expect(await logPath(`/d/${after}`)).toBe('/d/[redacted]')
    // The token that was replaced may still be in use elsewhere.
    expect(await logPath(`/e/${before}`)).toBe('/e/[redacted]')
    expect(log()).not.toMatch(new RegExp([gatewayToken, before, after, 'password-of-the-environment'].join('|')))
  })

  it('uses the new level after a reload, for subscribers and for the process', async () => {
    const dir = temporaryFolder()
    const write = (level: string) => writeConfig(dir, { ...quiet, log: { level } })
    const gateway = await spawnGateway(write('error'))
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const listen = async () => {
      const client = await login(gateway.url)
      await client.call('subscribe', { topics: ['log'] })
      return client
    }
    const refuse = (path: string) => ask(`${gateway.url}${path}`, {})
    const before = await listen()
    await refuse('/before')
    write('info')
    await expect.poll(() => gateway.log.join('\n')).toContain('the configuration was reloaded')
    const after = await listen()
    await refuse('/after')
    await after.until(({ params }) => params.fields.path === '/after')
    await expect.poll(() => gateway.log.join('\n')).toContain('"path":"/after"')
    expect(gateway.log.join('\n')).not.toMatch(/"path":"\/before"|takes effect at the next start/)
    expect(before.notifications.filter(({ params }) => params.fields.path === '/before')).toEqual([])
  })

  it('does not stop the gateway when the disk behind standard error is full', async () => {
    const full = openSync('/dev/full', 'w')
    const args = [program, 'start', '--config', writeConfig(temporaryFolder(), quiet)]
    const gateway = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', full] })
    closeSync(full)
    onTestFinished(() => void gateway.kill('SIGKILL'))
    const [line] = await once(gateway.stdout!.setEncoding('utf8'), 'data')
    const url = /^listening on (\S+)$/m.exec(line)![1]
    for (let time = 0; time < 3; time++) expect((await ask(`${url}/nowhere`, {})).status).toBe(404)
  })
})
