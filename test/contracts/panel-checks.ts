// The check of a panel, for the contracts of the extensions that may have one.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import type { Panel } from '../../core/plugin/plugin.ts'
import type { Check } from './check.ts'

/** None for an extension without a panel. */
export const panelChecks = ({ panel }: { panel?: Panel }): Check[] =>
  panel === undefined
    ? []
    : [
        {
          name: 'has a panel that loads only its own files',
          advice:
            'Move scripts, styles and event handlers of the `index.html` of the panel into files of its folder, and ' +
            'name them relative to it.',
          run: () => loadsOwnFiles(panel),
        },
      ]

/** The gateway provides `../../panel.js` and `../../panel.css`. */
function loadsOwnFiles({ folder }: Panel): void {
  const html = readFileSync(new URL('index.html', folder), 'utf8')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\s(?:style|on[a-z]+)\s*=/i)
  const addresses = Array.from(html.matchAll(/\s(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi), ([, address = '']) => address)
  const own = addresses.filter((address) => !/^(?:#|data:|\.\.\/\.\.\/panel\.(?:js|css)$)/.test(address))
  expect(own.filter((address) => /^(?:[a-z]+:|\/|\.\.)/i.test(address))).toEqual([])
  expect(own.filter((address) => !existsSync(fileURLToPath(new URL(address, folder))))).toEqual([])
}
