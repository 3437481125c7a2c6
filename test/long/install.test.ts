// Installs the package with npm, and starts a gateway with the command that it brings.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../helpers.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

it('installs a gateway that starts, answers, and ends on SIGTERM', async () => {
  const dir = temporaryFolder()
  const npm = (...args: string[]) => execFileSync('npm', args, { cwd: dir, stdio: 'pipe' })
  writeFileSync(join(dir, 'package.json'), '{ "private": true }')
  npm('pack', '--pack-destination', dir, root)
  const tarball = readdirSync(dir).find((name) => name.endsWith('.tgz')) ?? ''
  npm('install', '--prefer-offline', '--no-audit', '--no-fund', join(dir, tarball))

  const gateway = spawn(join(dir, 'node_modules', '.bin', 'svc-gateway'), ['--port', '0'], {
    cwd: dir,
    env: { ...process.env, HOME: dir },
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  onTestFinished(() => void gateway.kill('SIGKILL'))
  let url: string | undefined
  for await (const line of createInterface({ input: gateway.stdout }))
    if ((url = /^listening on (http:\S+)$/.exec(line)?.[1])) break
  expect((await fetch(`${url}/healthz`)).status).toBe(200)
  gateway.kill('SIGTERM')
  expect(await once(gateway, 'exit')).toEqual([0, null])
})
