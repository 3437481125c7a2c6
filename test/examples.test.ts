// The examples of docs/plugins.md: extracted from the page, loaded as plugins, and used.
import { createHmac, generateKeyPairSync, hash, sign } from 'node:crypto'
import { once } from 'node:events'
import { mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, it, onTestFinished } from 'vitest'
import { hookAuthRules } from '../core/config/rules/hook-auth.ts'
import { createVerifier } from '../core/hooks/auth/verify-signature.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import { channelContract, createTestContext, presetContract, providerContract, toolsetContract } from './contracts.ts'
import { openMailbox } from './doubles/mailbox.ts'
import { startOpenAiChat } from './doubles/openai.ts'
import { answerFor } from './doubles/wire.ts'
import { openPagerService } from './doubles/pager.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const page = await readFile(join(root, 'docs', 'plugins.md'), 'utf8')
const examples = [...page.matchAll(/```ts\n(\/\/ ([\w-]+)\.ts: [\s\S]*?)```/g)].map(([, code = '', name = '']) => ({
  name,
  code,
}))

const dir = await mkdtemp(join(tmpdir(), 'examples-'))
await symlink(join(root, 'node_modules'), join(dir, 'node_modules'))
for (const { name, code } of examples) await writeFile(join(dir, `${name}.ts`), code)
const extensions = await loadExtensions({
  // The others are parts of a plugin.
  plugins: examples.filter(({ code }) => code.includes('export default')).map(({ name }) => `./${name}.ts`),
  dir,
  log: createTestContext().log,
})
afterAll(async () => {
  extensions.close()
  await rm(dir, { recursive: true })
})

describe('docs/plugins.md', () => {
  it('has complete examples, and all of them load', () => {
    expect(examples.map(({ name }) => name)).toEqual([
      'dice',
      'notes',
      'pager',
      'feed',
      'linked-pager',
      'device-login',
      'house-models',
      'status-page',
      'news',
      'parcel',
      'bank',
      'expensive',
    ])
    expect(extensions.problems).toEqual([])
  })

  it('has a notepad that returns what was added', async () => {
    const opened = await extensions.toolsets.get('notes')!.open!(
      { longest: 5 },
      { ...createTestContext(), offer: () => undefined },
    )
    const [add, list] = opened.tools
    await add!.execute({ text: 'buy milk' } as never, {} as never)
    expect(await list!.execute({} as never, {} as never)).toEqual(['buy m'])
  })

  it('has a preset whose job reads new articles', async () => {
    const article = { id: 7, title: 'New', url: 'https://example.com/7' }
    const server = createServer((_request, response) => void response.end(JSON.stringify([article])))
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    onTestFinished(() => void server.close())
    const { port } = server.address() as AddressInfo
    const { abort, ...context } = createTestContext()
    const accepted: unknown[] = []
    const accept = async (...payload: unknown[]) => (accepted.push(payload), 'accepted' as const)
    const config = { url: `http://127.0.0.1:${port}`, token: 't' }
    const job = await extensions.presets.get('news')!.start!(config, { ...context, accept, lost: () => undefined })
    expect(accepted).toEqual([[{ title: 'New', url: article.url }, { id: '7' }]])
    expect(await context.state.get('after')).toBe(7)
    abort()
    await job.close()
  })
})

toolsetContract(extensions.toolsets.get('dice')!, {
  calls: [{ tool: 'roll_dice', args: { sides: 6, count: 3 } }],
  refused: [{ tool: 'roll_dice', args: { sides: 1 } }],
})

toolsetContract(extensions.toolsets.get('notes')!, {
  config: { longest: 500 },
  calls: [
    { tool: 'notes_add', args: { text: 'buy milk' }, answer: { ok: true } },
    { tool: 'notes_list', args: {}, answer: [] },
  ],
  refused: [{ tool: 'notes_add', args: { text: 5 } }],
})

channelContract(extensions.channels.get('pager')!, () => openPagerService({ token: 'secret' }), {
  without: [
    'answer',
    'forward',
    'hideId',
    'badConfig',
    'disconnect',
    'edit',
    'redirectNextDownload',
    'rename',
    'say',
    'sayInGroup',
    'sayInThread',
    'sayWithFile',
    'sayWithFiles',
  ],
})

/** Shows text as it is, so that it fetches no pictures. */
async function openPlainMailbox() {
  const mailbox = await openMailbox()
  const messages = async () => (await mailbox.messages()).map(({ fetches: _pictures, ...message }) => message)
  return { ...mailbox, messages }
}

channelContract(extensions.channels.get('feed')!, openPlainMailbox, {
  without: [
    'answer',
    'redirectNextDownload',
    'forward',
    'hideId',
    'edit',
    'rename',
    'sayInGroup',
    'sayInThread',
    'sayWithFile',
    'sayWithFiles',
  ],
})

providerContract(extensions.providers.get('house-models')!, async (answer) => {
  const wire = await startOpenAiChat()
  wire.otherwise(answerFor(answer))
  return { config: { baseUrl: `${wire.url}/v1`, team: 'support' }, modelId: 'large', close: wire.close }
})

const incident = (impact: string) => ({ id: 'w1', incident: { id: 'i7', name: 'Mail is slow', impact } })
const body = JSON.stringify(incident('major'))
const signature = createHmac('sha256', 'the secret').update(body).digest('hex')

presetContract(extensions.presets.get('status-page')!, {
  config: { minorToo: false },
  accepted: [{ what: 'a major incident', payload: incident('major') }],
  skipped: [{ what: 'a minor incident', payload: incident('minor') }],
  refused: [{ what: 'an unknown impact', payload: incident('huge') }],
  signed: { auth: { secret: 'the secret' }, headers: { 'x-signature': `sha256=${signature}` }, body },
})

const parcel = JSON.stringify({ parcel: 'P1', state: 'delivered' })
const sentAt = String(Date.now())
const parcelProof = createHmac('sha256', 'the secret').update(`w1.${sentAt}.${parcel}`).digest('base64')

presetContract(extensions.presets.get('parcel')!, {
  scheme: extensions.schemes.get('parcel')!,
  accepted: [{ what: 'a delivered parcel', payload: JSON.parse(parcel) }],
  signed: {
    auth: { secret: 'the secret' },
    headers: { 'x-parcel-id': 'w1', 'x-parcel-time': sentAt, 'x-parcel-signature': `v2=${parcelProof}` },
    body: parcel,
  },
})

describe('the scheme "bank" of docs/plugins.md', () => {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  const auth = { scheme: 'bank', publicKey: publicKey.export({ type: 'spki', format: 'pem' }).toString() }
  const { schemes } = extensions

  it('verifies the time and the body', async () => {
    const verifier = createVerifier(auth, { schemes, log: createTestContext().log })
    const judge = (rawBody: string, at: number) => {
      const time = new Date(at).toISOString()
      const content = `${time}|${hash('sha256', '{}')}`
      const headers: Record<string, string> = {
        'x-bank-time': time,
        'x-bank-proof': sign('RSA-SHA256', Buffer.from(content), privateKey).toString('base64'),
      }
      const request = { header: (name: string) => headers[name], method: 'POST', url: () => '', now: Date.now() }
      return verifier.verify({ ...request, rawBody: Buffer.from(rawBody) })
    }
    expect([...hookAuthRules(auth, { schemes })]).toEqual([])
    expect(verifier).toMatchObject({ signsBody: true, hiddenHeaders: ['x-bank-proof'] })
    expect(await judge('{}', Date.now())).toEqual({ ok: true })
    expect(await judge('{ }', Date.now())).toMatchObject({ ok: false })
    expect(await judge('{}', Date.now() - 301_000)).toMatchObject({ ok: false })
  })
})
