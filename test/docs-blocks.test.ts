// Runs the blocks of the pages that users follow step by step. A block that cannot be run here is listed with a reason.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseEnv } from 'node:util'
import { describe, expect, it, onTestFinished } from 'vitest'
import { curlsOf, type Example, examples } from './docs-examples.ts'
import { ask, temporaryFolder } from './helpers.ts'
import { program } from './program.ts'

const pages = ['docs/start.md', 'docs/deploy.md', 'docs/recipes.md']
const used = new Set<Example>()

/** The block of a page that contains a text. */
function block(page: string, text: string): string {
  const found = examples.find((one) => one.page === page && one.text.includes(text))
  if (!found) throw new Error(`${page} has no block with "${text}"`)
  used.add(found)
  return found.text
}

/** Blocks that cannot be run in a test, by a text in them. */
const notRun: Record<string, string> = {
  '$ npm ci && npm start': 'test/docs-start.test.ts runs the program and compares what it prints',
  'npm install -g svc-gateway\nsvc-gateway': 'test/long/install.test.ts installs the package and starts it',
  '[console] console: Received: The backup': 'test/cli/start.test.ts sends the event and reads the output',
  '"eventId"': 'test/docs-start.test.ts compares it with the response',
  '"runId"': 'test/docs-start.test.ts compares it with the response',
  'HOOK_TOKEN=…': 'sets variables, which the tests of requests set as well',
  'systemctl enable': 'needs systemd and root',
  'docker build -t': 'needs Docker; test/long/dockerfile.test.ts executes the steps of the Dockerfile',
  'proxy_set_header Upgrade': 'needs nginx',
  'reverse_proxy 127.0.0.1:18789\n}\n': 'needs Caddy',
  'respond 404': 'needs Caddy',
  'cloudflared tunnel': 'needs accounts of other services',
  'mkdir -p cluster/config': 'test/docs-deploy.test.ts runs it',
  'x-gateway:': 'needs Docker; test/docs-deploy.test.ts starts its gateways',
  health_uri: 'needs Caddy; test/docs-deploy.test.ts compares it with the compose file',
  'upstream gateways': 'needs nginx; test/docs-deploy.test.ts compares it with the compose file',
  'kind: Deployment': 'needs Kubernetes; test/docs-deploy.test.ts starts its gateways',
  pg_dump: 'needs the client programs of PostgreSQL',
  pg_restore: 'needs the client programs of PostgreSQL',
}

/** Starts the gateway with the shell, and resolves with its address. */
async function startInShell(command: string, options: { cwd: string; env: NodeJS.ProcessEnv }) {
  const child = spawn('sh', ['-ec', `exec ${command}`], { ...options, stdio: ['ignore', 'pipe', 'pipe'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const log: string[] = []
  createInterface({ input: child.stderr }).on('line', (line) => log.push(line))
  for await (const line of createInterface({ input: child.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url) return { child, port: new URL(url).port, log }
  }
  throw new Error(`the gateway did not start:\n${log.join('\n')}`)
}

describe('docs/deploy.md', () => {
  const page = 'docs/deploy.md'

  it('has a systemd unit whose user, paths and time to stop fit the commands above it', async () => {
    const root = temporaryFolder()
    const unit = Object.fromEntries(
      Array.from(block(page, '[Service]').matchAll(/^(\w+)=(.*)$/gm), ([, key = '', value]) => [key, value]),
    ) as Record<string, string>
    const install = block(page, 'runuser')
    const within = (text: string) => text.replaceAll(/(?<!\S)\/(?:opt|srv)\b/g, (path) => join(root, path))
    const installed = '/opt/svc-gateway/bin/svc-gateway'
    mkdirSync(join(root, dirname(installed)), { recursive: true })
    writeFileSync(join(root, installed), `#!/bin/sh\nexec '${process.execPath}' '${program}' "$@"\n`, { mode: 0o755 })
    const env = { PATH: [dirname(process.execPath), process.env['PATH']].join(':'), HOME: root }

    const setup = /^runuser -u (\w+) -- (.*)$/m.exec(install)
    expect(setup?.[1]).toBe(unit['User'])
    execFileSync('sh', ['-ec', within(setup?.[2] ?? '')], { cwd: root, env, stdio: 'pipe' })
    expect(install).toContain(`--home-dir ${unit['WorkingDirectory']} `)
    expect(install).toContain(` ${unit['EnvironmentFile']}\n`)
    expect(unit['ReadWritePaths']).toBe(unit['WorkingDirectory'])
    expect(Number(unit['TimeoutStopSec'])).toBeGreaterThan(10 + 5)

    const cwd = within(unit['WorkingDirectory'] ?? '')
    const { child } = await startInShell(`${within(unit['ExecStart'] ?? '')} --port 0`, { cwd, env })
    child.kill('SIGTERM')
    expect(await once(child, 'exit')).toEqual([0, null])
  })

  it('has a container whose files, variables and configuration fit together', async () => {
    const dir = temporaryFolder()
    execFileSync('sh', ['-ec', block(page, 'mkdir -p gateway/data')], { cwd: dir, stdio: 'pipe' })
    const cwd = join(dir, 'gateway')
    const values = parseEnv(readFileSync(join(cwd, '.env'), 'utf8')) as Record<string, string>
    const compose = block(page, '# compose.yaml').replaceAll(
      /\$\{(\w+)\}/g,
      (_all, name: string) => values[name] ?? `(${name} is not set)`,
    )
    expect(compose).not.toContain('is not set')
    expect(compose).toMatch(new RegExp(`user: ${process.getuid?.()}:${process.getgid?.()}$`, 'm'))
    const [, passed = ''] = /environment:\n((?: {6}.+\n)+)/.exec(compose) ?? []
    const env = Object.fromEntries(
      Array.from(passed.matchAll(/^ +(\w+): (\S+)$/gm), ([, name = '', value]) => [name, value]),
    )
    const dockerfile = readFileSync(join(import.meta.dirname, '..', 'Dockerfile'), 'utf8')
    expect(compose).toContain(`'./data:${/^VOLUME (.+)$/m.exec(dockerfile)?.[1]}'`)
    expect(compose).toContain(`:${/^EXPOSE (.+)$/m.exec(dockerfile)?.[1]}'`)

    const variables = { ...env, HOME: dir, PATH: process.env['PATH'], SVC_GATEWAY_CONFIG: 'data/gateway.json5' }
    const { port, log } = await startInShell(`'${process.execPath}' '${program}' --port 0`, { cwd, env: variables })
    const call = (path: string, token = '', init: RequestInit = {}) =>
      ask(`http://127.0.0.1:${port}${path}`, { ...init, headers: { authorization: `Bearer ${token}` } })
    const body = '{"text":"x","mode":"next-heartbeat"}'
    expect(await call('/hooks/wake', env['HOOK_TOKEN'], { method: 'POST', body })).toMatchObject({ status: 200 })
    expect(await call('/api/channels', env['SVC_GATEWAY_TOKEN'])).toMatchObject({ status: 200 })
    expect(log.filter((line) => line.includes('"level":40'))).toEqual([])
  })
})

describe.each(pages)('%s', (page) => {
  it('has no block that is neither run nor named with a reason', () => {
    const unknown = examples
      .filter((one) => one.page === page && !used.has(one))
      // test/docs-examples.test.ts checks configurations and sends requests.
      .filter((one) => one.language !== 'json5' && curlsOf(one, {}).length === 0)
      .filter(({ text }) => !Object.keys(notRun).some((part) => text.includes(part)))
    expect(unknown.map(({ location }) => location)).toEqual([])
  })
})

it('names no block that does not exist as one that cannot be run', () => {
  const texts = examples.filter(({ page }) => pages.includes(page)).map(({ text }) => text)
  expect(Object.keys(notRun).filter((part) => !texts.some((text) => text.includes(part)))).toEqual([])
})
