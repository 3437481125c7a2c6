// Tests the page /docs in a real browser.
import { describe, expect, it } from 'vitest'
import { shareBrowser } from '../browser.ts'
import { gatewayToken, startGateway } from '../helpers.ts'

describe('GET /docs', () => {
  const browser = shareBrowser()

  it('shows every route after the credential is entered, without violating its content security policy', async () => {
    const { url } = await startGateway()
    const { page, complaints, asked } = await browser.visit(`${url}/docs`)
    await page.getByLabel('Credential of the gateway').fill(gatewayToken)
    await page.getByRole('button').click()
    await page.locator('.opblock-summary-path', { hasText: '/hooks/agent' }).waitFor()
    expect(await page.locator('.opblock').count()).toBeGreaterThan(15)
    expect(await page.locator('form').count()).toBe(0)
    await page.locator('.opblock-summary-path', { hasText: '/hooks/agent' }).click()
    await page
      .locator('.opblock.is-open')
      .getByText('For 24 hours, a second request with the same key and body gets the first reply again.')
      .waitFor()
    expect(complaints).toEqual([])
    expect(asked.filter((address) => !address.startsWith(`${url}/`) && !address.startsWith('data:'))).toEqual([])
    expect(asked.filter((address) => address.includes(gatewayToken))).toEqual([])
  })

  it('sends "try it out" requests with the credential', async () => {
    const { url } = await startGateway()
    const { page, complaints } = await browser.visit(`${url}/docs`)
    await page.getByLabel('Credential of the gateway').fill(gatewayToken)
    await page.getByRole('button').click()
    const block = page.locator('.opblock', { has: page.locator('[data-path="/api/extensions"]') })
    await block.locator('.opblock-summary').click()
    await block.getByRole('button', { name: 'Try it out' }).click()
    await block.getByRole('button', { name: 'Execute' }).click()
    await block.locator('.live-responses-table .response-col_status', { hasText: '200' }).waitFor()
    expect(complaints).toEqual([])
  })

  it('shows the error for a wrong credential', async () => {
    const { url } = await startGateway()
    const { page } = await browser.visit(`${url}/docs`)
    await page.getByLabel('Credential of the gateway').fill('wrong')
    await page.getByRole('button').click()
    const alert = page.getByRole('alert').filter({ hasText: 'The credential is missing or wrong' })
    await alert.waitFor()
    expect(await alert.isVisible()).toBe(true)
  })

  it('blocks scripts, styles, frames and forms of other origins, and serves only its own files', async () => {
    const { url } = await startGateway()
    const { headers } = await fetch(`${url}/docs`)
    expect(headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; script-src 'self'; style-src 'self';.*form-action 'none'; frame-ancestors 'none'$/,
    )
    expect(headers.get('x-content-type-options')).toBe('nosniff')
    for (const name of ['nothing.js', '..%2fpackage.json', 'index.html', '__proto__', 'toString'])
      expect((await fetch(`${url}/docs/${name}`)).status).toBe(404)
  })
})
