// Tests the command `completion`: bash completes with its script, and the scripts of other shells ask for the same.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { program } from '../program.ts'
import { share } from '../share.ts'
import { run } from './command-line.ts'

/** Prints what the function of the script has put into COMPREPLY, as when somebody presses the tab key. */
const pressTab = 'source "$SCRIPT"; COMP_LINE=$1; COMP_POINT=${#1}; _svc_gateway; printf "%s\\n" "${COMPREPLY[@]}"'

const shared = share(async () => {
  const dir = temporaryFolder()
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'svc-gateway'), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`)
  chmodSync(join(bin, 'svc-gateway'), 0o755)
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'transforms', 'orders.ts'), '')
  const gateway = await startGateway(
    {
      agents: { main: {}, reviewer: {}, defaults: { heartbeat: { every: 0 } } },
      hooks: {
        enabled: true,
        token: hookToken,
        presets: ['github'],
        github: { auth: { secret: 'x'.repeat(32) } },
        mappings: [
          {
            id: 'd',
            match: { path: 'deploys' },
            messageTemplate: '{{ text }}',
            deliver: false,
            wakeMode: 'next-heartbeat',
          },
        ],
      },
    },
    dir,
  )
  const { body } = await gateway.post('/hooks/deploys', { text: 'Hello.' }, { prefer: 'wait=20' })
  const script = join(dir, 'script')
  writeFileSync(script, (await run(dir, ['completion', 'bash'])).stdout)
  const variables = { PATH: `${bin}:${process.env['PATH']}`, HOME: dir, SCRIPT: script }
  const tab = async (line: string, env: NodeJS.ProcessEnv = {}) => {
    const { stdout } = await promisify(execFile)('bash', ['--norc', '-c', pressTab, 'bash', line], {
      cwd: dir,
      env: { ...variables, ...env },
    })
    return stdout.split('\n').filter(Boolean)
  }
  const control = { SVC_GATEWAY_URL: gateway.url, SVC_GATEWAY_TOKEN: gatewayToken }
  return { dir, tab, control, runId: body.runId as string, sessionKey: body.sessionKey as string }
})

describe('svc-gateway completion bash', () => {
  it.each([
    ['svc-gateway req', ['requests']],
    ['svc-gateway --po', ['--port']],
    ['svc-gateway runs ', ['list', 'show', 'cancel', 'retry', 'help']],
    ['svc-gateway requests --run', ['--run-status']],
    ['svc-gateway requests --status f', ['failed']],
    // Bash puts only what is after "=" into the line.
    ['svc-gateway requests --status=f', ['failed']],
    ['svc-gateway completion ', ['bash', 'zsh', 'fish']],
    ['svc-gateway trigger ', ['deploys', 'github', 'wake', 'agent']],
    ['svc-gateway trigger github --sample p', ['pull-request-opened', 'push']],
    ['svc-gateway trigger github --sample --dr', ['--dry-run']],
    ['svc-gateway trigger d --mapping ', ['d', 'github']],
    ['svc-gateway tail --hook de', ['deploys']],
    ['svc-gateway runs list --agent ', ['main', 'reviewer']],
    ['svc-gateway channels login c', ['console']],
    ['svc-gateway transform test ', ['orders.ts']],
    ['svc-gateway nothing ', []],
    ['svc-gateway chat --session ', []],
  ])('completes "%s"', async (line, expected) => {
    expect((await shared().tab(line)).toSorted()).toEqual(expected.toSorted())
  })

  it('completes ids and keys of the running gateway', async () => {
    const { tab, control, runId, sessionKey } = shared()
    expect(await tab('svc-gateway runs show ', control)).toEqual([runId])
    expect(await tab(`svc-gateway runs show ${runId.slice(0, 10)}`, control)).toEqual([runId])
    expect(await tab('svc-gateway tools explain session_s', control)).toEqual(['session_status'])
    // Bash puts only what is after the last colon into the line.
    const [agent, id, ...rest] = sessionKey.split(':')
    expect(await tab(`svc-gateway sessions show ${agent}:${id}:${rest[0]?.slice(0, 2)}`, control)).toContain(
      rest.join(':'),
    )
  })

  it('offers nothing, without an error, if no gateway answers', async () => {
    const { dir } = shared()
    const env = { SVC_GATEWAY_URL: 'http://127.0.0.1:9', SVC_GATEWAY_TOKEN: 'x' }
    expect(await run(dir, ['complete', '--', 'runs', 'show', ''], { env })).toEqual({ code: 0, stdout: '', stderr: '' })
  })

  it('offers no text that would do something in a shell', async () => {
    const dir = temporaryFolder()
    const mappings = ['good/name', 'a;reboot', '$(reboot)', 'a b', "it's", 'a\u001B[2J'].map((path) => ({
      match: { path },
    }))
    writeFileSync(join(dir, 'gateway.json5'), JSON.stringify({ hooks: { mappings } }), { mode: 0o600 })
    const { stdout } = await run(dir, ['complete', '--', 'trigger', ''])
    expect(stdout).toBe('good/name\nwake\nagent\n')
  })
})

describe('svc-gateway completion', () => {
  it('prints candidates with their descriptions', async () => {
    expect(await run(shared().dir, ['complete', '--', 'runs', 'li'])).toEqual({
      code: 0,
      stdout: 'list\tList runs, newest first.\n',
      stderr: '',
    })
  })

  it('asks for files where a file is expected', async () => {
    expect(await run(shared().dir, ['complete', '--', 'check', '--config', ''])).toMatchObject({ stdout: ':files\n' })
  })

  it.each([
    ['bash', 'complete -F _svc_gateway svc-gateway'],
    ['zsh', 'compdef _svc_gateway svc-gateway'],
    ['fish', "complete -c svc-gateway -f -a '(__svc_gateway_complete)'"],
  ])('prints a script for %s', async (shell, registration) => {
    const dir = temporaryFolder()
    const { code, stdout } = await run(dir, ['completion', shell])
    writeFileSync(join(dir, 'script'), stdout)
    expect({ code, stdout }).toEqual({ code: 0, stdout: expect.stringContaining(`${registration}\n`) })
    expect(stdout).toContain(' complete -- ')
    expect(stdout).toContain(':files')
    const isInstalled = ['/bin', '/usr/bin', '/usr/local/bin'].some((folder) => existsSync(join(folder, shell)))
    // All three check the syntax of a script with -n.
    if (isInstalled) execFileSync(shell, ['-n', join(dir, 'script')])
  })

  it('refuses another shell', async () => {
    expect(await run(temporaryFolder(), ['completion', 'tcsh'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(
        /^error: command-argument value 'tcsh' is invalid.*Allowed choices are bash, zsh, fish/,
      ),
    })
  })
})
