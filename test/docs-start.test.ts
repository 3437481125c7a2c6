// Follows docs/start.md: the first start, each model, the requests and their responses.
import { execFileSync, spawn } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import JSON5 from 'json5'
import { describe, expect, it, onTestFinished } from 'vitest'
import { merge } from './contracts/merge.ts'
import { anySecret, type Curl, curlsOf, examples } from './docs-examples.ts'
import { startAnthropic } from './doubles/anthropic.ts'
import { startOpenAiChat, startOpenAiResponses } from './doubles/openai.ts'
import type { Wire } from './doubles/wire.ts'
import { ask, type Document, hookToken, gatewayToken, spawnGateway, temporaryFolder } from './helpers.ts'
import { program } from './program.ts'

const onPage = examples.filter(({ page }) => page === 'docs/start.md')
const configurations = onPage.filter(({ language }) => language === 'json5').map((one) => one.text)
const configuration = (part: string): Document =>
  JSON5.parse(`{ ${configurations.find((one) => one.includes(part)) ?? ''} }`.replaceAll(/\$\{\w+\}/g, anySecret))

/** Sends the request of the page that contains this text. */
async function send(url: string, part: string, values: Readonly<Record<string, string>> = {}) {
  const curl = onPage
    .flatMap((one) => curlsOf(one, values))
    .find(({ init, path }) => (init.body ?? path).includes(part))
  const { path, init } = curl as Curl
  return await ask(`${url}${path}`, init)
}

/** The file that `setup` writes, with the tokens of the page's requests, and with changes. */
function configure(changes: Document): string {
  const dir = temporaryFolder()
  const file = join(dir, 'gateway.json5')
  const env = { ...process.env, HOME: dir }
  execFileSync(process.execPath, [program, 'setup', '--config', file], { cwd: dir, env })
  const tokens = { gateway: { port: 0, auth: { token: gatewayToken } }, hooks: { token: hookToken } }
  const written = JSON5.parse<Document>(readFileSync(file, 'utf8'))
  writeFileSync(file, JSON.stringify(merge(merge(written, tokens), changes)))
  return file
}

async function start(changes: Document) {
  const gateway = await spawnGateway(configure(changes))
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
  return gateway
}

describe('docs/start.md', () => {
  it('shows what the first start prints', async () => {
    const dir = temporaryFolder()
    const child = spawn(process.execPath, [program, '--port', '0'], { cwd: dir, env: { ...process.env, HOME: dir } })
    onTestFinished(() => void child.kill('SIGKILL'))
    child.stdout.once('data', () => child.kill('SIGTERM'))
    const printed = (await text(child.stdout))
      .replaceAll(/(?<=127\.0\.0\.1):\d+/g, ':18789')
      .replaceAll(dir, '/home/me/svc-gateway')
    const shown = onPage.find((one) => one.text.startsWith('$ npm ci && npm start\n'))!.text
    expect(printed).toContain(shown.split('\n').slice(1, -2).join('\n'))
  })

  it('shows the responses to its first requests', async () => {
    const { url, output } = await start({})
    const responses = onPage.filter(({ language }) => language === 'json').map((one) => JSON.parse(one.text) as object)
    const [event, run] = [await send(url, 'The backup has failed'), await send(url, 'Say hello')]
    expect([event, run].map(({ body }) => Object.keys(body as object))).toEqual(responses.map(Object.keys))
    await expect.poll(() => output.join('\n')).toContain('[console] console: Received: Say hello')
    expect(await send(url, '/runs/', { RUN_ID: run.body.runId as string })).toMatchObject({ status: 200 })
  })

  const models: [string, () => Promise<Wire>][] = [
    ['anthropic', startAnthropic],
    ['openai', startOpenAiResponses],
    ['openai-compatible', startOpenAiChat],
  ]

  it.each(models)('connects a model that explains a webhook: %s', async (kind, startServer) => {
    const server = await startServer()
    onTestFinished(() => server.close())
    server.otherwise({ text: 'Prices are rounded correctly now.' })
    const section = configuration(`kind: '${kind}'`)
    const [name = ''] = Object.keys(section['providers'] as Document)
    const atDouble = { providers: { [name]: { baseUrl: `${server.url}/v1` } } }
    const { url, output } = await start(merge(merge(section, atDouble), configuration('deploys')))
    expect(await send(url, 'What can you do?')).toMatchObject({ body: { reply: 'Prices are rounded correctly now.' } })
    expect(await send(url, 'fix rounding')).toMatchObject({ status: 200 })
    const reply = '[console] console: Prices are rounded correctly now.'
    await expect.poll(() => output.filter((line) => line === reply).length).toBeGreaterThan(1)
    const { defaults } = section['agents'] as { defaults: { model: string } }
    const requests = JSON.stringify(server.requests.map(({ body }) => body))
    expect(`${name}/${String(server.requests[0]?.body['model'])}`).toBe(defaults.model)
    expect(requests).toContain('shop was deployed by Ada: fix rounding of VAT; cache product images.')
  })
})
