// The exec tool: who may use it, the environment of a command, and that it leaves no process behind.
import { readFileSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, startGateway, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'
import { refused, startTools } from './calls.ts'

const tools = { profile: 'full', alsoAllow: ['exec'] }
const shared = share(() => startTools({ tools: { ...tools, exec: { maxOutput: 1000 } } }))
/** Ends commands after half a second. */
const short = share(() => startTools({ tools: { ...tools, exec: { timeoutSeconds: 0.5 } } }))

/** Whether a process with this id is running. */
function isAlive(pid: number): boolean {
  try {
    return !/\) [ZX] /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'))
  } catch {
    return false
  }
}

const dead = async (pids: readonly number[]): Promise<void> => await expect.poll(() => pids.filter(isAlive)).toEqual([])

describe('access to exec', () => {
  it('is denied unless the policy names the tool, which POST /tools/explain explains', async () => {
    const { gateway, dir, get, post } = await startGateway()
    const names = async (policy: object) => {
      writeConfig(dir, { tools: policy })
      await gateway.reload()
      return (await get('/tools')).body.items.map(({ name }: { name: string }) => name)
    }
    for (const policy of [tools, { allow: ['exec'] }, { allow: ['group:runtime'] }, { profile: 'coding' }])
      expect(await names(policy)).toContain('exec')
    for (const policy of [{ profile: 'full' }, { allow: ['*'] }, { allow: ['ex*'] }, { allow: ['read'] }, {}])
      expect(await names(policy)).not.toContain('exec')
    const operator = { authorization: `Bearer ${gatewayToken}` }
    const { body } = await post('/tools/explain', { tool: 'exec' }, operator)
    expect(body.allowed).toBe(false)
    expect(body.layers.at(-1)).toEqual({ layer: 'opt_in', verdict: 'deny', rule: 'not named in any allow list' })
  })

  it('is allowed to an agent whose policy names it, but not to its webhook runs', async () => {
    const { askAgent, hook } = shared()
    expect(await askAgent('/exec {"command":"echo a-word"}')).toContain('a-word')
    expect((await hook('/exec {"command":"echo a-word > x"}')).body.reply).not.toContain('exitCode')
  })
})

describe('a command', () => {
  it('runs in the workspace, with an environment of its own', async () => {
    const { result, dir } = shared()
    const { stdout, exitCode } = await result('exec', { command: 'pwd; env | cut -d= -f1 | sort | tr "\\n" " "' })
    expect(exitCode).toBe(0)
    const [folder, names] = stdout.split('\n')
    expect(folder).toBe(realpathSync(join(dir, 'state', 'workspaces', 'main')))
    expect(['HOME', 'LANG', 'OLDPWD', 'PATH', 'PWD']).toEqual(expect.arrayContaining(names.trim().split(' ')))
  })

  it('returns its exit status and its output', async () => {
    const { result } = shared()
    expect(await result('exec', { command: 'echo out; echo err >&2; exit 3' })).toEqual({
      exitCode: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    })
    expect(await result('exec', { command: 'kill -9 $$' })).toEqual({
      exitCode: null,
      signal: 'SIGKILL',
      stdout: '',
      stderr: '',
    })
  })

  it('has its output cut at a limit without being blocked', async () => {
    const { result } = shared()
    const { stdout, exitCode } = await result('exec', { command: 'head -c 5000000 /dev/zero | tr "\\0" x' })
    expect([exitCode, stdout.length, stdout.slice(999)]).toEqual([
      0,
      1000 + '\n[cut: 5000000 bytes in all]'.length,
      'x\n[cut: 5000000 bytes in all]',
    ])
  })

  it('is killed at its time limit with all processes that it started, even a fork bomb', async () => {
    const { result } = short()
    const tree = await result('exec', { command: 'sleep 300 & sleep 301 & echo $! $$; wait' })
    expect(tree).toMatchObject({ timedOut: true, signal: 'SIGKILL' })
    await dead(tree.stdout.trim().split(' ').map(Number))
    const bomb = await result('exec', {
      command: 'echo $$; n=0; f() { n=$((n+1)); [ $n -gt 6 ] && sleep 300; f & f & wait; }; f',
    })
    expect(bomb.timedOut).toBe(true)
    const group = Number(bomb.stdout)
    await expect.poll(() => isGroupEmpty(group)).toBe(true)
  })

  it('is killed at its time limit when it prints without end', async () => {
    const { result } = short()
    expect(await result('exec', { command: 'yes' })).toMatchObject({ timedOut: true })
  })

  it('leaves no process in the background', async () => {
    const { result } = shared()
    const { stdout, exitCode } = await result('exec', { command: 'nohup sleep 300 & echo $!' })
    expect(exitCode).toBe(0)
    await dead([Number(stdout)])
  })

  it('is killed with the call, at the tool deadline and when the gateway stops', async () => {
    const { call, dir, gateway } = await startTools({
      tools: { ...tools, timeoutSeconds: 0.5, exec: { timeoutSeconds: 60 } },
    })
    const pidFile = join(dir, 'state', 'workspaces', 'main', 'pid')
    expect((await call('exec', { command: 'echo $$ > pid; sleep 300' })).status).toBe(504)
    await dead([Number(readFileSync(pidFile, 'utf8'))])
    await gateway.close()
  })

  it('may have a shorter time limit, not a longer one', async () => {
    const { result, call } = short()
    expect(await result('exec', { command: 'sleep 300', timeoutSeconds: 0.1 })).toMatchObject({ timedOut: true })
    expect(await result('exec', { command: 'sleep 300', timeoutSeconds: 100 })).toMatchObject({ timedOut: true })
    expect(await call('exec', { command: ' ' })).toMatchObject(
      refused(expect.stringContaining('args.command must not be blank')),
    )
  })
})

function isGroupEmpty(group: number): boolean {
  try {
    process.kill(-group, 0)
    return false
  } catch {
    return true
  }
}
