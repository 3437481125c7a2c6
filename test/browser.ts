// A real browser for tests, out of a package: nothing needs to be installed on the machine.
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright, type Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

export interface Visit {
  page: Page
  /** What the browser complained about: refused by the policy, failed, thrown. */
  complaints: string[]
  /** Addresses that the page asked for. */
  asked: string[]
}

/** One browser for a block of tests; each visit is a fresh window. */
export function shareBrowser(): { visit(url: string): Promise<Visit> } {
  let browser: Browser
  beforeAll(async () => {
    // Not with the arguments that the package proposes: they turn off what is to be tested.
    browser = await playwright.launch({
      executablePath: await chromium.executablePath(),
      args: ['--no-sandbox', '--disable-gpu'],
    })
  }, 60_000)
  afterAll(() => browser.close())
  return {
    visit: async (url) => {
      const context = await browser.newContext()
      onTestFinished(() => context.close())
      const page = await context.newPage()
      const [complaints, asked]: [string[], string[]] = [[], []]
      page.on('console', (message) => void (message.type() === 'error' && complaints.push(message.text())))
      page.on('pageerror', (error) => void complaints.push(error.message))
      page.on('request', (request) => void asked.push(request.url()))
      await page.goto(url)
      return { page, complaints, asked }
    },
  }
}
