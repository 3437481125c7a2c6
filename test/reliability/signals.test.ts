// Tests signals during the start, during a reload, sent twice, and with standard input closed.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { startModel } from '../doubles/model.ts'
import { ask, type Document, hookToken, temporaryFolder, writeConfig } from '../helpers.ts'
import { program } from '../program.ts'

const liar = fileURLToPath(new URL('../fixtures/mcp/liar.mjs', import.meta.url))

/** A toolset that logs when it opens and then, if configured so, never finishes. */
const slowPlugin = `
import { defineToolset, Type } from 'svc-gateway/plugin'
export default defineToolset({
  name: 'slow',
  description: 'Takes its time.',
  config: Type.Object({ hang: Type.Optional(Type.Boolean({ description: 'Whether it never opens.' })) }),
  async open({ hang }, context) {
    if (!hang) return { tools: [], close: async () => {} }
    context.log.warn({}, 'it opens')
    return await new Promise(() => {})
  },
})
`

/** Starts a gateway process without waiting for it to listen. */
function launch(dir: string, changes: Document, stdin: 'ignore' | 'pipe' = 'ignore') {
  const child = spawn(process.execPath, [program, 'start', '--config', writeConfig(dir, changes)], {
    stdio: [stdin, 'pipe', 'pipe'],
  })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  let look = (): void => undefined
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream! }).on('line', (line) => {
      lines.push(line)
      look()
    })
  }
  return {
    child,
    lines,
    exited: once(child, 'exit') as Promise<[number | null, string | null]>,
    /** Resolves when the gateway has written this many lines that contain the text. */
    says: (text: string, times = 1) =>
      new Promise<void>((resolve) => {
        look = () => void (lines.filter((line) => line.includes(text)).length >= times && resolve())
        look()
      }),
  }
}

const isGone = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return false
  } catch {
    return true
  }
}

describe('SIGTERM', () => {
  it('ends a starting gateway with 0 and releases the store', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'slow.ts'), slowPlugin)
    const changes = { plugins: ['./slow.ts'], tools: { slow: { hang: true } } }
    const gateway = launch(dir, changes)
    await gateway.says('it opens')
    gateway.child.kill('SIGTERM')
    expect(await gateway.exited).toEqual([0, null])
    expect(gateway.lines.join('\n')).not.toContain('listening on')
    expect(existsSync(join(dir, 'state', 'gateway.db.pid'))).toBe(false)
  })

  it('during a reload ends the gateway with 0 and logs no failure', async () => {
    const dir = temporaryFolder()
    writeFileSync(join(dir, 'slow.ts'), slowPlugin)
    const gateway = launch(dir, { plugins: ['./slow.ts'] })
    await gateway.says('listening on')
    writeConfig(dir, { plugins: ['./slow.ts'], tools: { slow: { hang: true } } })
    await gateway.says('it opens')
    gateway.child.kill('SIGTERM')
    expect(await gateway.exited).toEqual([0, null])
    expect(gateway.lines.join('\n')).toContain('"msg":"stopped"')
    expect(gateway.lines.join('\n')).not.toContain('was not taken over')
  })

  it('ends a gateway that continued after its standard input was closed', async () => {
    const gateway = launch(
      temporaryFolder(),
      { channels: { console: { input: true, allowFrom: ['console'] } } },
      'pipe',
    )
    await gateway.says('listening on')
    gateway.child.stdin!.end('Is anybody there?\n')
    await gateway.says('run ended')
    gateway.child.kill('SIGTERM')
    expect(await gateway.exited).toEqual([0, null])
  })

  it('lets runs end within the drain time that a reload has set', async () => {
    const [dir, model] = [temporaryFolder(), await startModel()]
    model.script({ hang: true })
    const changes = {
      providers: model.providers,
      agents: { defaults: { model: 'double/m', retry: { forSeconds: 0 } } },
    }
    const gateway = launch(dir, { ...changes, gateway: { drainSeconds: 0 } })
    await gateway.says('listening on')
    const [, url] = /listening on (\S+)/.exec(gateway.lines.join('\n')) ?? []
    // Longer than the old drain time and its grace period.
    const body = JSON.stringify({ message: 'Think.', timeoutSeconds: 7, deliver: false, wakeMode: 'next-heartbeat' })
    await ask(`${url}/hooks/agent`, { method: 'POST', headers: { authorization: `Bearer ${hookToken}` }, body })
    await model.request(0)
    writeConfig(dir, { ...changes, gateway: { drainSeconds: 60 } })
    await gateway.says('the configuration was reloaded')
    gateway.child.kill('SIGTERM')
    expect(await gateway.exited).toEqual([0, null])
    expect(gateway.lines.join('\n')).toContain('timed_out')
  })

  it('sent twice leaves no MCP server behind, not even one that does not stop', async () => {
    const dir = temporaryFolder()
    const pids = join(dir, 'pids')
    const servers = { stubborn: { command: process.execPath, args: [liar, 'stubborn', pids] } }
    const gateway = launch(dir, { gateway: { drainSeconds: 60 }, tools: { mcp: { servers } } })
    await gateway.says('an MCP server is connected')
    const pid = Number(readFileSync(pids, 'utf8'))
    gateway.child.kill('SIGTERM')
    await gateway.says('stopping')
    gateway.child.kill('SIGTERM')
    await gateway.exited
    await expect.poll(() => isGone(pid)).toBe(true)
  })
})

describe('SIGHUP', () => {
  it('does not end a starting gateway, whose log says what was started and when it stopped', async () => {
    const dir = temporaryFolder()
    writeFileSync(
      join(dir, 'slow.ts'),
      slowPlugin.replace(
        'return await new Promise(() => {})',
        'process.kill(process.pid, "SIGHUP")\n    return { tools: [], close: async () => {} }',
      ),
    )
    const gateway = launch(dir, { plugins: ['./slow.ts'], tools: { slow: { hang: true } } })
    await gateway.says('listening on')
    await gateway.says('the configuration was reloaded')
    const started = JSON.parse(gateway.lines.find((line) => line.includes('"msg":"started"')) ?? '{}') as object
    expect(started).toMatchObject({
      level: 30,
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      config: join(dir, 'gateway.json5'),
      address: expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+$/),
      extensions: ['toolset slow'],
    })
    gateway.child.kill('SIGTERM')
    expect(await gateway.exited).toEqual([0, null])
    expect(JSON.parse(gateway.lines.at(-1) ?? '{}')).toMatchObject({ level: 30, msg: 'stopped' })
  })
})

describe('A change of the configuration file during the start', () => {
  it('takes effect after it', async () => {
    const dir = temporaryFolder()
    writeFileSync(
      join(dir, 'slow.ts'),
      `import { appendFileSync } from 'node:fs'\n${slowPlugin.replace(
        'return await new Promise(() => {})',
        `appendFileSync(${JSON.stringify(join(dir, 'gateway.json5'))}, '// changed')
    return { tools: [], close: async () => {} }`,
      )}`,
    )
    const gateway = launch(dir, { plugins: ['./slow.ts'], tools: { slow: { hang: true } } })
    await gateway.says('listening on')
    await gateway.says('the configuration was reloaded')
    expect(gateway.lines.filter((line) => line.includes('the configuration was reloaded'))).toHaveLength(1)
  })
})

describe('SIGUSR2', () => {
  it('is ignored', async () => {
    const { child, says, exited } = launch(temporaryFolder(), {})
    await says('listening on')
    child.kill('SIGUSR2')
    await says('a signal was ignored')
    child.kill('SIGTERM')
    expect(await exited).toEqual([0, null])
  })
})
