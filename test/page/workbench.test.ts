// Tests the workbench for mappings in a real browser.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import JSON5 from 'json5'
import { describe, expect, it } from 'vitest'
import { hookToken, startGateway, temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const issue = { action: 'opened', issue: { title: "It's on fire", labels: [{ name: 'urgent' }] } }

describe('the workbench for mappings', () => {
  const { open } = sharePages()
  const gateway = share(() =>
    startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      hooks: { enabled: true, token: hookToken, mappings: [{ match: { path: 'inbox' }, messageTemplate: 'any' }] },
    }),
  )

  it('makes a mapping of a captured request while the reader types, and the gateway accepts it', async () => {
    const { url, post, get } = gateway()
    await post('/hooks/inbox', issue, { 'x-event': 'issue' })
    const before = (await get('/api/requests')).body.items.length
    const [{ id }] = (await get('/api/requests?hook=inbox&limit=1')).body.items
    const permissions = ['clipboard-read', 'clipboard-write']
    const { page, complaints } = await open(url, '#/workbench', { permissions })
    await page.getByLabel('Captured request').selectOption(id)
    await expect.poll(() => page.getByLabel('Hook').inputValue()).toBe('inbox')
    await page.getByLabel('Message').fill('New issue: ')
    await page.getByLabel('Insert a value of the payload').selectOption('issue.title')
    const message = page.getByRole('group', { name: 'Message of the agent' })
    await message.getByText("New issue: It's on fire").waitFor()
    await page.getByRole('button', { name: 'Add a condition' }).click()
    await page.getByLabel('Name, condition 1').fill('action')
    await page.getByLabel('Value, condition 1').fill('closed')
    await page.getByText('It does not hold for this request.').waitFor()
    await page.getByText('does not match', { exact: true }).waitFor()
    await expectAccessible(page)
    await page.getByLabel('Value, condition 1').fill('opened')
    await page.getByText('matches', { exact: true }).first().waitFor()
    await page.getByText('It does not hold for this request.').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Copy mapping' }).click()
    const copied = JSON5.parse(await page.evaluate<string>('navigator.clipboard.readText()'))
    expect(copied).toEqual({
      match: { path: 'inbox', payload: { action: 'opened' } },
      messageTemplate: 'New issue: {{issue.title}}',
    })
    expect((await get('/api/requests')).body.items).toHaveLength(before)
    const { post: send } = await startGateway({ hooks: { mappings: [copied] } })
    expect((await send('/hooks/inbox', issue)).status).toBe(200)
    expect(complaints).toEqual([])
  })

  it('shows each problem at its field', async () => {
    const { page } = await open(gateway().url, '#/workbench')
    await page.getByLabel('Message').fill('{{title | shout}}')
    await page.locator('.field').filter({ hasText: 'Message' }).getByRole('alert').getByText(/shout/).waitFor()
    await page.getByText('Correct the mapping first').waitFor()
    await page.getByLabel('Message').fill('{{title}}')
    await page.getByLabel('Further keys').fill('thinkin: "high",')
    const more = page.locator('.field').filter({ hasText: 'Further keys' }).getByRole('alert')
    await more.getByText(/did you mean "thinking"\?/).waitFor()
    await page.getByLabel('Further keys').fill('thinking: ')
    await more.getByText(/invalid JSON5/).waitFor()
    await expectAccessible(page)
  })

  it('tries a pasted payload with headers, for an event of the main session', async () => {
    const { page, complaints } = await open(gateway().url, '#/workbench')
    await page.getByLabel('Payload', { exact: true }).fill('{"name": "Ada"')
    await page.getByLabel('Action').selectOption('wake')
    await page.getByLabel('Text').fill('{{name}} wrote from {{headers.x-origin}}')
    await page.getByText('The sender gets an error:').waitFor()
    await page.getByLabel('Payload', { exact: true }).fill('{"name": "Ada"}')
    await page.getByLabel('Headers').fill('X-Origin: the moon')
    await page.getByRole('group', { name: 'Message of the agent' }).getByText('Ada wrote from the moon').waitFor()
    expect(complaints).toEqual([])
  })

  it('makes a request and a mapping of a curl command', async () => {
    const { page, complaints } = await open(gateway().url, '#/workbench')
    await page.getByRole('button', { name: 'Import curl' }).click()
    const dialog = page.getByRole('dialog', { name: 'Import a curl command' })
    await dialog.getByLabel('Command', { exact: true }).fill('wget https://example.com')
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await dialog.getByRole('alert').getByText('There is no curl command').waitFor()
    await expectAccessible(page)
    await dialog
      .getByLabel('Command', { exact: true })
      .fill(
        `curl -X POST https://example.com/hooks/orders -H 'X-Shop-Signature: sha256=5257' -H 'X-Shop-Event: paid' ` +
          `-d '{"order":{"number":"A-1","total":59.9},"token":"hidden"}'`,
      )
    await dialog.getByRole('button', { name: 'Import', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await page
      .getByText('These credentials of the command were not copied: x-shop-signature, the field token.')
      .waitFor()
    expect(await page.getByLabel('Hook').inputValue()).toBe('orders')
    expect(await page.getByLabel('Headers').inputValue()).toBe('x-shop-event: paid')
    const message = page.getByRole('group', { name: 'Message of the agent' })
    await message.getByText('Order number: A-1').waitFor()
    await page.getByText('matches', { exact: true }).first().waitFor()
    const mapping = await page.getByRole('group', { name: 'Mapping', exact: true }).innerText()
    expect(JSON5.parse(mapping)).toEqual({
      match: { path: 'orders' },
      name: 'Orders',
      auth: { scheme: 'hmac', header: 'x-shop-signature', prefix: 'sha256=', secret: '${ORDERS_SECRET}' },
      messageTemplate:
        'Event: {{ headers.x-shop-event }}\nOrder number: {{ order.number }}\nOrder total: {{ order.total }}',
    })
    await expectAccessible(page)
    expect(complaints.filter((text) => !text.includes('400'))).toEqual([])
  })

  it('runs a transform on the request, and shows its result, its log and its error', async () => {
    const dir = temporaryFolder()
    mkdirSync(join(dir, 'transforms'))
    const file = join(dir, 'transforms', 'titles.ts')
    const code = `export default ({ payload }: { payload: { service: string } }) => {
      console.log('for', payload.service)
      return { message: 'From code: ' + payload.service }
    }
    export const broken = ({ payload }: any) => payload.a.b.c`
    writeFileSync(file, code)
    const { url, get } = await startGateway({ hooks: { enabled: true, token: hookToken } }, dir)
    const { page } = await open(url, '#/workbench')
    await page.getByLabel('Transform', { exact: true }).selectOption('titles.ts')
    const message = page.getByRole('group', { name: 'Message of the agent' })
    await message.getByText('From code: shop').waitFor({ timeout: 30_000 })
    const result = page.getByRole('region', { name: 'What the transform did' })
    await result.getByText('"message": "From code: shop"').waitFor()
    await result.getByText('info: for shop').waitFor()
    await expectAccessible(page)
    await page.getByLabel('Function').fill('broken')
    const field = page.locator('.field').filter({ hasText: 'A file of the transforms directory' })
    await field
      .getByRole('alert')
      .getByText(/threw a TypeError at titles\.ts:5/)
      .waitFor({ timeout: 30_000 })
    await page.getByText("transform: { module: 'titles.ts', export: 'broken' },").waitFor()
    writeFileSync(file, code.replace('From code', 'From new code'))
    await page.getByLabel('Function').fill('')
    await message.getByText(/From (?:new )?code: shop/).waitFor({ timeout: 30_000 })
    await expect
      .poll(
        async () => {
          await result.getByRole('button', { name: 'Run again' }).click()
          return await message.innerText()
        },
        { timeout: 30_000 },
      )
      .toContain('From new code: shop')
    expect((await get('/api/requests')).body.items).toEqual([])
  }, 90_000)

  it('works with the keyboard alone, and fits a narrow screen', async () => {
    const { page } = await open(gateway().url, '#/requests', { viewport: { width: 360, height: 740 } })
    await page.keyboard.press('g')
    await page.keyboard.press('w')
    await page.getByRole('heading', { name: 'Mapping workbench' }).waitFor()
    await page.getByLabel('Message').focus()
    await page.keyboard.type('Hello {{name}}')
    await page.getByRole('button', { name: 'Add a condition' }).focus()
    await page.keyboard.press('Enter')
    await page.getByLabel('Test, condition 1').waitFor()
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await expectAccessible(page)
  })

  it('saves the mapping after showing the difference, and replaces the one with the same id', async () => {
    const { url, dir, post } = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      hooks: { enabled: true, token: hookToken, mappings: [{ id: 'inbox', match: { path: 'inbox' }, deliver: false }] },
    })
    const file = join(dir, 'gateway.json5')
    writeFileSync(file, readFileSync(file, 'utf8').replace('{', '{ // Kept.'))
    const { page, complaints } = await open(url, '#/workbench')
    await page.getByLabel('Hook').fill('alerts')
    await page.getByLabel('Id').fill('alerts')
    await page.getByLabel('Message').fill('{{service}}: {{status}}')
    await page.getByLabel('Further keys').fill('deliver: false,')
    const save = page.getByRole('region', { name: 'For the configuration' }).getByRole('button', { name: 'Save…' })
    const dialog = page.getByRole('dialog', { name: 'Save the mapping' })
    await save.click()
    await dialog
      .getByRole('group', { name: 'What saving changes' })
      .getByText(/^\+ .*id: 'alerts'/)
      .waitFor()
    await expectAccessible(page)
    // Somebody else saves meanwhile. The mapping is added to what they have saved.
    writeFileSync(file, readFileSync(file, 'utf8').replace('// Kept.', '// Kept by others.'))
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody has changed the file').waitFor()
    await dialog.getByRole('button', { name: 'Save over the new file' }).click()
    await page.getByText('In effect: hooks.mappings.').waitFor()
    expect((await post('/hooks/alerts', { service: 'shop', status: 'down' })).status).toBe(200)
    await page.getByRole('textbox', { name: 'Message' }).fill('{{service}} again')
    await save.click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.waitFor({ state: 'detached' })
    const { hooks } = JSON5.parse<{ hooks: { mappings: object[] } }>(readFileSync(file, 'utf8'))
    expect(hooks.mappings).toMatchObject([{ id: 'inbox' }, { id: 'alerts', messageTemplate: '{{service}} again' }])
    expect(readFileSync(file, 'utf8')).toContain('// Kept by others.')
    expect(complaints.filter((one) => !one.includes('412'))).toEqual([])
  })

  it('saves a mapping before another one of the same hook, so that it is tried first', async () => {
    const mapping = (id: string, path: string) => ({ id, match: { path }, messageTemplate: id, deliver: false })
    const { url, dir, post, get } = await startGateway({
      agents: { defaults: { heartbeat: { every: 0 } } },
      hooks: { enabled: true, token: hookToken, mappings: [mapping('orders', 'orders'), mapping('all', 'inbox')] },
    })
    const { page, complaints } = await open(url, '#/workbench')
    const place = page.getByLabel('Place')
    await page.getByLabel('Hook').fill('orders')
    await expect
      .poll(() => place.getByRole('option').allTextContents())
      .toEqual(['First, before orders', 'Last, after orders'])
    await page.getByLabel('Hook').fill('inbox')
    await page.getByLabel('Id').fill('urgent')
    await page.getByLabel('Message').fill('urgent')
    await page.getByLabel('Further keys').fill('deliver: false,')
    expect(await place.inputValue()).toBe('')
    await place.selectOption('First, before all')
    await expectAccessible(page)
    await page.getByRole('region', { name: 'For the configuration' }).getByRole('button', { name: 'Save…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save the mapping' })
    await dialog.getByText('is never reached').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('It replaces the mapping urgent').waitFor()
    const { hooks } = JSON5.parse<{ hooks: { mappings: object[] } }>(readFileSync(join(dir, 'gateway.json5'), 'utf8'))
    expect(hooks.mappings).toMatchObject([{ id: 'orders' }, { id: 'urgent' }, { id: 'all' }])
    await post('/hooks/inbox', {}, { prefer: 'wait=20' })
    const [{ id }] = (await get('/api/requests?hook=inbox')).body.items
    expect((await get(`/api/requests/${id}`)).body.mappings).toMatchObject([
      { id: 'urgent', isUsed: true },
      { id: 'all', isUsed: false },
    ])
    expect(complaints).toEqual([])
  })

  it('says why it cannot try a mapping', async () => {
    const { url } = await startGateway({ hooks: { enabled: false } })
    const { page } = await open(url, '#/workbench')
    await page.getByText('The hooks are disabled; set hooks.enabled to use them.').waitFor()
    await expectAccessible(page)
  })
})
