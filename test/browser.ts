// A real browser for tests, from an npm package, so that the machine needs no installed browser.
import chromium from '@sparticuz/chromium'
import { type Browser, type BrowserContextOptions, chromium as playwright, type Page } from 'playwright-core'
import { beforeAll, onTestFinished } from 'vitest'

export interface Visit {
  page: Page
  /** What the browser reported: policy violations, failed requests, thrown errors. */
  complaints: string[]
  /** The URLs that the page requested. */
  asked: string[]
}

export interface VisitOptions extends BrowserContextOptions {
  /** What the storage of the tab holds before the page is loaded. */
  tabStorage?: Readonly<Record<string, string>>
}

/** Those of this process, by their arguments. A process runs many files, and ends its browsers when it exits. */
const browsers = new Map<string, Promise<Browser>>()

async function launch(args: readonly string[]): Promise<Browser> {
  // Does not use the package's default arguments, which disable what is to be tested.
  return await playwright.launch({
    executablePath: await chromium.executablePath(),
    args: ['--no-sandbox', '--disable-gpu', ...args],
  })
}

/** Gives a block of tests a browser with further arguments. Each visit opens a new window, which shares nothing. */
export function shareBrowser({ args = [] }: { args?: readonly string[] } = {}): {
  visit(url: string, options?: VisitOptions): Promise<Visit>
} {
  let browser: Browser
  beforeAll(async () => {
    const running = browsers.get(args.join(' ')) ?? launch(args)
    browsers.set(args.join(' '), running)
    browser = await running
  }, 60_000)
  return {
    visit: async (url, { tabStorage = {}, ...options } = {}) => {
      const context = await browser.newContext({ locale: 'en-US', ...options })
      // Shorter than the time of a test, so that its failure names what it waited for.
      context.setDefaultTimeout(10_000)
      onTestFinished(() => context.close())
      await context.addInitScript((items) => {
        // A sandboxed frame has no storage.
        if ((globalThis as { parent?: unknown }).parent !== globalThis) return
        for (const [key, value] of Object.entries(items)) sessionStorage.setItem(key, value)
      }, tabStorage)
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
