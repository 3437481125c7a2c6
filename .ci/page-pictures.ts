// Writes docs/page/: a picture of each view of the control page, in light and dark colors, of a gateway with made-up
// work. Arguments name the pictures to take; without one, all are taken.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import chromium from '@sparticuz/chromium'
import JSON5 from 'json5'
import { type Browser, type Page, chromium as playwright } from 'playwright-core'

const root = join(import.meta.dirname, '..')
const folder = join(root, 'docs', 'page')
const [gatewayToken, hookToken] = ['the gateway token of the pictures', 'the hook token of the pictures']
const size = { width: 1200, height: 750 }

const config = {
  gateway: { port: 0, auth: { token: gatewayToken } },
  hooks: {
    enabled: true,
    token: hookToken,
    presets: ['github', 'grafana'],
    github: { auth: { secret: 'the secret of the pictures' }, deliver: false },
    grafana: { deliver: false },
    mappings: [
      {
        id: 'deploys',
        match: { path: 'deploys' },
        name: 'Deploy of {{service}}',
        sessionKey: 'hook:deploys',
        messageTemplate: '{{service}} was deployed to {{env}}: {{status}}. Commit {{commit.sha}} by {{commit.author}}.',
        deliver: false,
      },
      {
        id: 'patrol',
        match: { path: 'patrol' },
        name: 'Patrol',
        sessionKey: 'hook:patrol',
        messageTemplate: '/web_fetch {"url": "https://status.example.com/{{service}}"}',
        deliver: false,
      },
      {
        id: 'orders',
        match: { path: 'orders' },
        sessionKey: 'hook:order:{{order}}',
        messageTemplate: '/session_status {}',
        deliver: false,
      },
    ],
  },
  providers: { local: { kind: 'openai-compatible', baseUrl: 'http://127.0.0.1:9/v1' } },
  channels: { console: { defaultTo: 'team', file: 'console.jsonl' } },
  tools: { byOrigin: { hook: { ask: ['web_fetch'] } } },
  approvals: { timeout: '1h', channel: 'console', to: 'team', approvers: ['ops'] },
  alerts: { channel: 'console', to: 'team' },
  budget: [{ per: '1d', tokens: 50_000, runs: 100 }],
  agents: { defaults: { heartbeat: { every: 0 } }, main: {}, ops: { tools: { deny: ['web_fetch', 'group:fs'] } } },
}

type Send = (path: string, body: object, token?: string) => Promise<void>

const createSend =
  (url: string): Send =>
  async (path, body, token = hookToken) => {
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', prefer: 'wait=10' }
    await (await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) })).text()
  }

/** Sends webhooks and calls, so that every view has something to show. */
async function work(send: Send): Promise<void> {
  const services = ['shop', 'billing', 'search', 'mail', 'login']
  for (const [index, service] of services.entries()) {
    const commit = { sha: `9f2ab1${index}`, author: 'Ada', files: ['src/cart.ts', 'src/total.ts'] }
    await send('/hooks/deploys', { service, env: 'production', status: index === 3 ? 'failed' : 'ok', commit })
    await send('/hooks/orders', { order: 4_711 + index })
  }
  await send('/hooks/wake', {
    text: 'The nightly backup has failed: no space left on the device.',
    mode: 'next-heartbeat',
  })
  await send('/hooks/agent', { text: 'The field is called message.' })
  await send('/hooks/nothing', { hello: 'world' })
  await send('/hooks/patrol', { service: 'shop' })
  await send('/hooks/agent', { message: 'Good morning.', channel: 'console', to: 'team' })
  const files = [
    ['MEMORY.md', '- Ada prefers short answers.\n- Deploys of the shop are on Tuesdays.\n'],
    ['notes/today.md', 'The deploy of mail has failed.\n'],
    ['plan.md', '1. Look at the dashboards.\n2. Write the digest.\n'],
  ]
  for (const [path, text] of files) await send('/tools/invoke', { tool: 'write', args: { path, text } }, gatewayToken)
  const schedules = [
    ['Digest', 'Write what happened since yesterday.', { cron: '0 8 * * 1-5' }],
    ['Patrol', 'Look at the dashboards, and say what is unusual.', { every: '2h' }],
  ] as const
  for (const [name, message, timing] of schedules) {
    const args = { action: 'add', name, message, ...timing, channel: 'console', to: 'team' }
    await send('/tools/invoke', { tool: 'cron', args }, gatewayToken)
  }
}

interface Picture {
  name: string
  fragment: string
  /** What to do before the picture is taken. */
  prepare?(page: Page): Promise<void>
}

async function listPictures(url: string, send: Send): Promise<Picture[]> {
  const headers = { authorization: `Bearer ${gatewayToken}` }
  const first = async (path: string): Promise<string> => {
    const { items } = (await (await fetch(url + path, { headers })).json()) as { items: { id: string }[] }
    return items[0]?.id ?? ''
  }
  const approval = await first('/api/approvals?status=waiting&limit=1')
  const request = await first('/api/requests?hook=deploys&limit=1')
  const run = await first('/api/runs?hook=orders&limit=1')
  const openTool = async (page: Page): Promise<void> => {
    await page.locator('summary').nth(1).click()
    await page.getByRole('heading', { name: 'Result' }).waitFor()
  }
  return [
    { name: 'home', fragment: '#/home' },
    { name: 'requests', fragment: `#/requests/${request}` },
    { name: 'runs', fragment: `#/runs/${run}`, prepare: openTool },
    { name: 'sessions', fragment: `#/sessions/${encodeURIComponent('agent:main:hook:deploys')}` },
    { name: 'tools', fragment: '#/tools?tab=policy' },
    { name: 'approvals', fragment: `#/approvals/${approval}` },
    { name: 'schedules', fragment: '#/schedules' },
    { name: 'hooks', fragment: '#/hooks/github' },
    {
      name: 'workbench',
      fragment: `#/workbench/${request}`,
      prepare: async (page) => {
        await page.getByLabel('Further keys').fill('deliver: false,')
        await page.getByLabel('Message').fill('{{service}} is {{status}} on {{env}}. Files: {{commit.files}}')
        await page.getByRole('group', { name: 'Message of the agent' }).getByText('login is ok').waitFor()
      },
    },
    {
      name: 'panels',
      fragment: '#/panels/toolset/files',
      prepare: async (page) => {
        const frame = page.frameLocator('iframe')
        await frame.getByRole('button', { name: 'MEMORY.md' }).click()
        await frame.getByLabel('Text of MEMORY.md').waitFor()
      },
    },
    { name: 'channels', fragment: '#/channels' },
    { name: 'outbox', fragment: '#/outbox' },
    { name: 'usage', fragment: '#/usage?unit=tokens' },
    { name: 'audit', fragment: '#/audit' },
    {
      name: 'config',
      fragment: '#/config?section=hooks',
      prepare: async (page) => {
        await page.getByRole('textbox', { name: 'Text of the configuration file' }).getByText('enabled').click()
        // The pointer would show the description of the key.
        await page.mouse.move(0, 0)
        await page.keyboard.press('End')
        await page.keyboard.press('Enter')
        await page.keyboard.type("keepBody: 'no',")
        await page.getByText('has problems').waitFor()
        await page.getByRole('region', { name: 'Form' }).getByText('must be true or false').waitFor()
      },
    },
    {
      name: 'log',
      fragment: '#/log',
      prepare: async (page) => {
        // The first lines may be written before the page is subscribed.
        while ((await page.locator('.log-line').count()) < 10) {
          await send('/hooks/orders', { order: 4_720 })
          await send('/hooks/agent', {})
          await send('/hooks/wake', { text: 'The nightly backup is done.', mode: 'now' })
          await page.waitForTimeout(100)
        }
      },
    },
  ]
}

/** WebP is a fifth of PNG. The browser converts, so that no other program is needed. */
async function toWebp(page: Page, png: Buffer): Promise<Buffer> {
  const data = await page.evaluate<string>(`(async () => {
    const image = await createImageBitmap(await (await fetch('data:image/png;base64,${png.toString('base64')}')).blob())
    const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height })
    canvas.getContext('2d').drawImage(image, 0, 0)
    return canvas.toDataURL('image/webp', 0.82)
  })()`)
  return Buffer.from(data.slice(data.indexOf(',') + 1), 'base64')
}

const wanted = process.argv.slice(2)

async function takePictures(url: string, send: Send): Promise<void> {
  await using browser = await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu'],
  })
  const converter = await browser.newPage()
  const pages = { light: await openPage(browser, 'light'), dark: await openPage(browser, 'dark') }
  for (const { name, fragment, prepare } of await listPictures(url, send)) {
    if (wanted.length > 0 && !wanted.includes(name)) continue
    for (const [color, page] of Object.entries(pages)) {
      await page.goto(`${url}/${fragment}`)
      await page.reload()
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.waitForLoadState('networkidle')
      await prepare?.(page)
      writeFileSync(join(folder, `${name}-${color}.webp`), await toWebp(converter, await page.screenshot()))
    }
  }
}

async function openPage(browser: Browser, colorScheme: 'light' | 'dark'): Promise<Page> {
  const context = await browser.newContext({ viewport: size, colorScheme, locale: 'en-US', reducedMotion: 'reduce' })
  await context.addInitScript((token) => {
    // A panel runs in a frame that has no storage.
    if ((globalThis as { parent?: unknown }).parent === globalThis)
      sessionStorage.setItem('svc-gateway credential /', token)
  }, gatewayToken)
  const page = await context.newPage()
  // The gateway of the pictures is in a temporary folder, whose name says nothing.
  await page.route('**/api/config/file', async (route) => {
    const response = await route.fetch()
    const stored = (await response.json()) as object
    await route.fulfill({ response, json: { ...stored, file: '/srv/gateway/gateway.json5' } })
  })
  // The view of the configuration asks before what is written is lost.
  page.on('dialog', (dialog) => void dialog.accept())
  return page
}

const dir = mkdtempSync(join(tmpdir(), 'svc-gateway-page-'))
const file = join(dir, 'gateway.json5')
const comment = '// The configuration of svc-gateway. docs/configure.md describes all keys.\n'
writeFileSync(file, comment + JSON5.stringify(config, { space: 2, quote: "'" }), { mode: 0o600 })
const gateway = spawn(process.execPath, [join(root, 'dist', 'main.js'), 'start', '--config', file], {
  stdio: ['ignore', 'pipe', 'ignore'],
})
try {
  for await (const line of createInterface({ input: gateway.stdout })) {
    const url = /^listening on (\S+)$/.exec(line)?.[1]
    if (url === undefined) continue
    mkdirSync(folder, { recursive: true })
    const send = createSend(url)
    await work(send)
    await takePictures(url, send)
    break
  }
} finally {
  gateway.kill()
  rmSync(dir, { recursive: true, force: true })
}
