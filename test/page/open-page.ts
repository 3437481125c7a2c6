// Opens the control page of a gateway in a real browser, signed in, and checks it for accessibility.
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Page } from 'playwright-core'
import { expect } from 'vitest'
import { shareBrowser, type Visit, type VisitOptions } from '../browser.ts'
import { gatewayToken } from '../helpers.ts'

export interface PageOpener {
  /** Opens a location, such as `#/requests?status=rejected`, and waits until the page is connected. */
  open(url: string, fragment?: string, options?: VisitOptions): Promise<Visit>
  visit: ReturnType<typeof shareBrowser>['visit']
}

/** What the tab of a reader who has signed in holds. */
export const signedIn = { 'svc-gateway credential /': gatewayToken }

export function sharePages(): PageOpener {
  const { visit } = shareBrowser()
  return {
    visit,
    open: async (url, fragment = '', options = {}) => {
      const visited = await visit(`${url}/${fragment}`, { tabStorage: signedIn, ...options })
      await visited.page.getByRole('status').filter({ hasText: 'Live' }).first().waitFor({ state: 'attached' })
      return visited
    },
  }
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

interface Violation {
  id: string
  nodes: { html: string; failureSummary?: string }[]
}

/** Expects that axe finds nothing on the page as it is now, in light and in dark colors. */
export async function expectAccessible(page: Page): Promise<void> {
  // An evaluated script is not subject to the policy of the page.
  await page.evaluate(axe)
  for (const colorScheme of ['light', 'dark'] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' })
    const violations = await page.evaluate(
      async () => (await (globalThis as unknown as { axe: Axe }).axe.run()).violations,
    )
    const found = violations.map(({ id, nodes }) => ({
      id,
      colorScheme,
      nodes: nodes.map(({ html, failureSummary }) => [html, failureSummary]),
    }))
    expect(found).toEqual([])
  }
}

interface Axe {
  run(): Promise<{ violations: Violation[] }>
}
