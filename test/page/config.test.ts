// Tests the view of the configuration in a real browser: the editor, the form, and saving.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Locator, Page } from 'playwright-core'
import { describe, expect, it } from 'vitest'
import { gatewayToken, hookToken, startGatewayOn, temporaryFolder } from '../helpers.ts'
import { expectAccessible, sharePages } from './open-page.ts'

const text = `// Kept by every change.
{
  gateway: { port: 0, auth: { token: '${gatewayToken}' } },
  hooks: {
    enabled: true, // on
    token: '${hookToken}',
    mappings: [
      { id: 'one', match: { path: 'one' }, messageTemplate: 'One.', deliver: false },
    ],
  },
  agents: { defaults: { heartbeat: { every: 0 } } },
}
`

/** The view reads and writes the file of a gateway of its own. */
async function start() {
  const file = join(temporaryFolder(), 'gateway.json5')
  writeFileSync(file, text, { mode: 0o600 })
  const gateway = await startGatewayOn(file)
  return { ...gateway, file, read: () => readFileSync(file, 'utf8') }
}

const editorOf = (page: Page): Locator => page.getByRole('textbox', { name: 'Text of the configuration file' })

/** So wide that no line is wrapped. */
const wide = { viewport: { width: 1900, height: 900 } }

/** Moves to the end of a line, as a reader with a keyboard does. */
async function goToLine(page: Page, line: number): Promise<void> {
  await editorOf(page).focus()
  await page.keyboard.press('Control+Home')
  for (let moved = 1; moved < line; moved++) await page.keyboard.press('ArrowDown')
  await page.keyboard.press('End')
}

/** Types into a field in the moment when it is shown, and returns what it holds some frames later. */
const typesAtOnce = `new Promise((resolve) => {
  new MutationObserver(async (_changes, observer) => {
    const label = [...document.querySelectorAll('label')].find((one) => one.textContent === 'trustedProxies')
    if (!label) return
    observer.disconnect()
    const field = document.getElementById(label.htmlFor)
    field.value = '10.0.0.1'
    field.dispatchEvent(new Event('input', { bubbles: true }))
    for (let frame = 0; frame < 5; frame++) await new Promise(requestAnimationFrame)
    resolve(field.value)
  }).observe(document, { childList: true, subtree: true })
})`

describe('the view of the configuration', () => {
  const { open } = sharePages()

  it('shows the problems and the form below the editor in a narrow window', async () => {
    const { url } = await start()
    const { page } = await open(url, '#/config', { viewport: { width: 820, height: 900 } })
    await page.getByText('valid', { exact: true }).waitFor()
    for (const name of ['Problems', 'Form'])
      expect((await page.getByRole('heading', { name, exact: true }).boundingBox())!.y).toBeGreaterThan(
        await page.locator('.text-editor').evaluate((element) => element.getBoundingClientRect().bottom),
      )
  })

  it('completes keys, and saves what the reader has seen', async () => {
    const { url, read, post } = await start()
    const { page, complaints } = await open(url, '#/config', wide)
    await page.getByText('valid', { exact: true }).waitFor()
    await goToLine(page, 5)
    await page.keyboard.press('Enter')
    await page.keyboard.type('defaultS')
    const offered = page.getByRole('listbox', { name: 'Completions' })
    await offered.getByRole('option', { name: /^defaultSessionKey/ }).waitFor()
    await page.getByText('Session of agent webhooks without a session key.', { exact: false }).first().waitFor()
    await expectAccessible(page)
    await page.keyboard.press('Enter')
    await page.keyboard.type('all')
    await page.getByText('valid', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save the configuration' })
    await dialog
      .getByRole('group', { name: 'What saving changes' })
      .getByText("+    defaultSessionKey: 'all',")
      .waitFor()
    await expectAccessible(page)
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('In effect: hooks.defaultSessionKey.').waitFor()
    await page.getByText('not saved').waitFor({ state: 'detached' })
    expect(read()).toContain("// on\n    defaultSessionKey: 'all',\n    token")
    expect((await post('/hooks/agent', { message: 'hi', deliver: false })).body.sessionKey).toBe('agent:main:all')
    expect(complaints).toEqual([])
  })

  it('shows problems at their place while the reader types, and saves nothing that has one', async () => {
    const { url, read } = await start()
    const { page, complaints } = await open(url, '#/config', wide)
    await goToLine(page, 11)
    await page.keyboard.press('Enter')
    await page.keyboard.type('log: { lvel: 1 },')
    const problems = page.getByRole('region', { name: 'Problems' })
    await problems.getByText('did you mean "level"?').waitFor()
    await page.locator('.cm-lintRange-error').filter({ hasText: 'lvel' }).waitFor()
    await expectAccessible(page)
    await page.getByRole('button', { name: 'Save…' }).click()
    const dialog = page.getByRole('dialog', { name: 'Save the configuration' })
    await dialog.getByText('The text is not a valid configuration').waitFor()
    expect(await dialog.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true)
    await dialog.getByRole('button', { name: 'Go back' }).click()
    // The button moves to the key.
    await problems.getByRole('button', { name: 'Line 12' }).click()
    await page.keyboard.type('level: "info", l')
    await page.keyboard.press('Shift+End')
    await page.keyboard.type(' },')
    await problems.getByText('This is invalid JSON5').waitFor()
    expect(read()).toBe(text)
    expect(complaints).toEqual([])
  })

  it('offers the values of a key, and describes the key at the cursor and at the pointer', async () => {
    const { url } = await start()
    const { page, complaints } = await open(url, '#/config', wide)
    await goToLine(page, 11)
    await page.keyboard.press('Enter')
    await page.keyboard.type('log')
    await page.getByRole('option', { name: /^log/ }).click()
    await page.keyboard.type('lev')
    await page.getByRole('option', { name: /^level/ }).click()
    await page.getByRole('option', { name: /^trace/ }).waitFor()
    await page.keyboard.type('war')
    await page.getByRole('option', { name: /^warn/ }).click()
    await editorOf(page).getByText("log: { level: 'warn' },").waitFor()
    await page.getByText('The lowest level that is logged.').first().waitFor()
    await editorOf(page).getByText('enabled').hover()
    await page.locator('.cm-tooltip-hover').getByText('Turns the webhook endpoints on.').waitFor()
    await page.getByText('valid', { exact: true }).waitFor()
    expect(complaints).toEqual([])
  })

  it('keeps what is typed as soon as the form shows another section', async () => {
    const { url } = await start()
    const { page } = await open(url, '#/config?section=hooks', wide)
    const form = page.getByRole('region', { name: 'Form' })
    await form.getByLabel('path', { exact: true }).waitFor()
    const typing = page.evaluate<string>(typesAtOnce)
    await form.getByLabel('Section').selectOption('gateway')
    expect(await typing).toBe('10.0.0.1')
  })

  it('changes single keys with the form, and keeps comments', async () => {
    const { url, read } = await start()
    const { page, complaints } = await open(url, '#/config?section=hooks', wide)
    const form = page.getByRole('region', { name: 'Form' })
    await form.getByLabel('path', { exact: true }).fill('/in')
    await form.getByLabel('path', { exact: true }).press('Enter')
    await editorOf(page).getByText("path: '/in'").waitFor()
    await form.getByLabel('keepBody', { exact: true }).selectOption('false')
    await editorOf(page).getByText('keepBody: false').waitFor()
    await form.getByLabel('maxBodyBytes', { exact: true }).fill('many')
    await form.getByLabel('maxBodyBytes', { exact: true }).press('Enter')
    await form.getByRole('alert').getByText('must be a whole number').waitFor()
    await form.getByLabel('maxBodyBytes', { exact: true }).fill('')
    await form.getByLabel('maxBodyBytes', { exact: true }).press('Enter')
    await form.getByRole('button', { name: 'Replace hooks.token' }).click()
    await form.getByLabel('token', { exact: true }).fill('a-new-token-for-the-hooks-012345')
    await form.getByRole('button', { name: 'Use it' }).click()
    await editorOf(page).getByText('a-new-token-for-the-hooks-012345').waitFor()
    await form.locator('summary').filter({ hasText: 'rateLimit' }).click()
    await form.getByLabel('maxAttempts', { exact: true }).waitFor()
    await expectAccessible(page)
    await form.getByLabel('Section').selectOption('agents')
    await form.getByLabel('Name of a new entry of agents').fill('ops')
    await form.getByRole('button', { name: 'Add to agents' }).click()
    await editorOf(page).getByText('ops: {').waitFor()
    await form.getByLabel('Section').selectOption('gateway')
    await form.getByLabel('trustedProxies').fill('10.0.0.1\n10.0.0.2')
    await form.getByLabel('trustedProxies').blur()
    await form.getByLabel('port', { exact: true }).fill('18080')
    await form.getByLabel('port', { exact: true }).press('Enter')
    await editorOf(page).getByText('port: 18080').waitFor()
    await page.getByText('valid', { exact: true }).waitFor()
    await page.getByRole('button', { name: 'Save…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByText('These keys take effect at the next start of the gateway: gateway.port').waitFor()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await page.getByText('At the next start: gateway.port.').waitFor()
    const saved = read()
    for (const kept of ['// Kept by every change.', '// on', "trustedProxies: ['10.0.0.1', '10.0.0.2']"])
      expect(saved).toContain(kept)
    expect(saved).not.toContain('maxBodyBytes')
    expect(complaints).toEqual([])
  })

  it('shows both when the file has changed meanwhile, and replaces it only when the reader says so', async () => {
    const { url, file, read, gateway } = await start()
    const { page, complaints } = await open(url, '#/config?section=hooks', wide)
    const form = page.getByRole('region', { name: 'Form' })
    const write = async (path: string): Promise<void> => {
      await form.getByLabel('path', { exact: true }).fill(path)
      await form.getByLabel('path', { exact: true }).press('Enter')
      await editorOf(page).getByText(`path: '${path}'`).waitFor()
    }
    await write('/mine')
    const theirs = text.replace('// on', '// on, they say')
    writeFileSync(file, theirs)
    await page.getByRole('button', { name: 'Save…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByText('Somebody has changed the file since you opened it.').waitFor()
    await dialog
      .getByRole('group', { name: 'What has changed in the file' })
      .getByText('+    enabled: true, // on, they say')
      .waitFor()
    await dialog.getByRole('group', { name: 'What saving changes' }).getByText("+    path: '/mine',").waitFor()
    await expectAccessible(page)
    expect(read()).toBe(theirs)
    await dialog.getByRole('button', { name: 'Drop my changes' }).click()
    await editorOf(page).getByText('they say').waitFor()
    await write('/again')
    writeFileSync(file, text.replace('// on', '// once more'))
    // A new connection loads the file again, so that the reader sees it before saving.
    await gateway.reload()
    await page.getByText('The file has changed since you began to write.').waitFor()
    await page.getByRole('button', { name: 'Save…' }).click()
    await dialog.getByRole('button', { name: 'Save' }).click()
    await dialog.getByRole('button', { name: 'Save over the new file' }).click()
    await page.getByText('In effect: hooks.path.').waitFor()
    expect(read()).toContain("path: '/again'")
    // 412 is what the browser reports as a failed request.
    expect(complaints.filter((one) => !one.includes('412'))).toEqual([])
  })

  it('works with the keyboard alone: Escape, then Tab, leaves the editor, and letters are no shortcuts', async () => {
    const { url } = await start()
    const { page, complaints } = await open(url, '#/requests', wide)
    await page.keyboard.press('g')
    await page.keyboard.press('f')
    await goToLine(page, 1)
    await page.keyboard.type(' g h ?')
    await editorOf(page).getByText('// Kept by every change. g h ?').waitFor()
    expect(new URL(page.url()).hash).toBe('#/config')
    await page.keyboard.press('Tab')
    expect(await editorOf(page).evaluate('document.activeElement.className')).toBe('text-editor')
    await page.keyboard.press('Escape')
    await page.keyboard.press('Tab')
    expect(await page.evaluate('document.activeElement.className')).not.toBe('text-editor')
    await page.goto(`${url}/#/requests`)
    await page.getByRole('heading', { name: 'Requests', exact: true }).waitFor()
    await page.goto(`${url}/#/config`)
    await editorOf(page).getByText('g h ?').waitFor()
    await page.getByRole('button', { name: 'Drop my changes' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Drop my changes' }).click()
    await editorOf(page).getByText('g h ?').waitFor({ state: 'detached' })
    expect(complaints).toEqual([])
  })

  it('fits a width of 360 pixels', async () => {
    const { url } = await start()
    const { page } = await open(url, '#/config?section=channels', { viewport: { width: 360, height: 740 } })
    await page.getByText('valid', { exact: true }).waitFor()
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
    await page.locator('summary').filter({ hasText: 'telegram' }).click()
    await expectAccessible(page)
    expect(await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')).toBe(0)
  })

  it('is there for administrators only, and so is saving in the workbench', async () => {
    const token = 'the-token-of-an-operator-012345678'
    const file = join(temporaryFolder(), 'gateway.json5')
    const clients = `clients: [{ name: 'ann', role: 'operator', token: '${token}' }], `
    writeFileSync(file, text.replace('auth: { ', `auth: { ${clients}`), { mode: 0o600 })
    const { url } = await startGatewayOn(file)
    const { page, complaints } = await open(url, '#/config', { tabStorage: { 'svc-gateway credential /': token } })
    await page.getByText('There is no such view, or your role does not include it').waitFor()
    await page.goto(`${url}/#/workbench`)
    const result = page.getByRole('region', { name: 'For the configuration' })
    await result.getByRole('group', { name: 'Mapping' }).waitFor()
    expect(await result.getByRole('button', { name: 'Save…' }).count()).toBe(0)
    expect(complaints).toEqual([])
  })
})
