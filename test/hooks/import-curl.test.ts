// Tests `POST /api/hooks/import-curl` and `GET /api/transforms`, which serve the workbench of the page.
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }

describe('POST /api/hooks/import-curl', () => {
  const gateway = share(async () => {
    const dir = temporaryFolder()
    const scheme = `
      import { defineScheme } from 'svc-gateway/plugin'
      export default defineScheme({ name: 'shop', description: 'A shop.', signatures: [{ header: 'x-shop-signature', prefix: 'v1=' }] })`
    writeFileSync(join(dir, 'shop.mjs'), scheme)
    return await startGateway({ plugins: ['./shop.mjs'] }, dir)
  })
  const importCurl = async (command: unknown) => await gateway().post('/api/hooks/import-curl', { command }, operator)

  it('makes a mapping with body: "text" of a body that is neither JSON nor a form', async () => {
    const { body } = await importCurl(`curl example.com/alerts -H 'Content-Type: text/plain' -d 'ETH above 3000'`)
    expect(body.mapping).toMatchObject({ body: 'text', messageTemplate: expect.stringContaining('{{ text }}') })
    const preview = {
      mapping: JSON.stringify(body.mapping),
      body: 'BTC below 1',
      headers: { 'content-type': 'text/plain' },
    }
    const tried = await gateway().post('/api/hooks/preview', preview, operator)
    expect(tried.body).toMatchObject({ isMatch: true, actions: [{ message: 'Text: BTC below 1' }] })
  })

  it('makes a request and a mapping, without the credentials, with the schemes of plugins', async () => {
    const { status, body } = await importCurl(String.raw`
      # From the documentation.
      $ curl -sS "https://example.com/hooks/orders?token=hidden" -H 'X-Shop-Signature: v1=0011' \
        -H "X-Shop-Event: order.created" -d '{"order":{"number":"A-1"},"api_key":"hidden"}' | jq .`)
    expect({ status, body }).toEqual({
      status: 200,
      body: {
        ok: true,
        mapping: {
          match: { path: 'orders' },
          name: 'Orders',
          auth: { scheme: 'shop', secret: '${ORDERS_SECRET}' },
          messageTemplate: 'Event: {{ headers.x-shop-event }}\nOrder number: {{ order.number }}',
        },
        payload: { order: { number: 'A-1' }, api_key: '${ORDERS_API_KEY}' },
        headers: { 'x-shop-event': 'order.created' },
        notes: [
          'The scheme "shop" verifies the header x-shop-signature. Set ORDERS_SECRET to the secret.',
          'These credentials of the command were not copied: x-shop-signature, the field api_key.',
        ],
      },
    })
    const preview = { mapping: JSON.stringify(body.mapping), body: JSON.stringify(body.payload), headers: body.headers }
    const tried = await gateway().post('/api/hooks/preview', preview, operator)
    expect(tried.body).toMatchObject({
      isMatch: true,
      problems: [],
      actions: [{ message: 'Event: order.created\nOrder number: A-1' }],
    })
    expect((await gateway().get('/api/requests')).body.items).toEqual([])
  })

  it.each([
    ['no command', 'hello', 'There is no curl command'],
    [
      'a file',
      `curl -d @gateway.json5 x`,
      'The command reads the file "gateway.json5"; write its text into the command.',
    ],
    ['an absolute file', `curl -d @/etc/hostname x`, 'The command reads the file "/etc/hostname"'],
    ['a file of a form', `curl -F 'a=<gateway.json5' x`, 'The command reads the file "gateway.json5"'],
    ['a substitution', 'curl -d "$(cat gateway.json5)" x', 'The command contains a command substitution'],
    ['an open quotation mark', `curl -d '{"a":1} x`, 'a quotation mark in line 1 that is not closed'],
    ['no body', 'curl https://example.com', 'The command sends no body'],
    ['a long command', `curl -d '${'a'.repeat(70_000)}'`, 'command must have at most 65536 characters'],
    ['something else', 5, 'command must be a string'],
  ])('refuses %s with one sentence', async (_what, command, message) => {
    const { status, body } = await importCurl(command)
    expect({ status, type: body.error.type }).toEqual({ status: 400, type: 'invalid_request' })
    expect(body.error.message).toContain(message)
    expect(body.error.message).not.toContain(gatewayToken)
  })

  it('needs an operator', async () => {
    expect((await gateway().post('/api/hooks/import-curl', { command: 'curl' })).status).toBe(401)
  })
})

describe('GET /api/transforms', () => {
  it('lists the modules in the transforms directory, and nothing else', async () => {
    const dir = temporaryFolder()
    const folder = join(dir, 'transforms')
    for (const path of ['text', 'node_modules/a', '.git']) mkdirSync(join(folder, path), { recursive: true })
    for (const path of [
      'b.ts',
      'a.mjs',
      'text/lines.js',
      'README.md',
      'a.payload.json',
      'b.test.ts',
      'c.d.ts',
      'x.tsx',
    ])
      writeFileSync(join(folder, path), '')
    for (const path of ['node_modules/a/index.js', '.git/hook.js']) writeFileSync(join(folder, path), '')
    writeFileSync(join(dir, 'outside.ts'), '')
    symlinkSync(join(dir, 'outside.ts'), join(folder, 'link.ts'))
    symlinkSync(dir, join(folder, 'up'))
    const { get } = await startGateway({}, dir)
    expect((await get('/api/transforms')).body).toEqual({
      items: ['a.mjs', 'b.ts', 'text/lines.js'].map((module) => ({ module })),
    })
  })

  it('lists nothing without such a folder', async () => {
    const { get } = await startGateway({ hooks: { enabled: true, token: hookToken } })
    expect((await get('/api/transforms')).body).toEqual({ items: [] })
  })
})
