// A real browser for tests, from an npm package, so that the machine needs no installed browser.
import chromium from '@sparticuz/chromium'
import { type Browser, chromium as playwright, type Page } from 'playwright-core'
import { afterAll, beforeAll, onTestFinished } from 'vitest'

export interface Visit {
  page: Page
  /** What the browser reported: policy violations, failed requests, thrown errors. */
  complaints: string[]
  /** The URLs that the page requested. */
  asked: string[]
}

/** Starts one browser for a block of tests. Each visit opens a new window. */
export function shareBrowser(): { visit(url: string): Promise<Visit> } {
  let browser: Browser
  beforeAll(async () => {
    // Does not use the package's default arguments, which disable what is to be tested.
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
