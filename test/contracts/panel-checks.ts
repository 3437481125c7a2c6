// The check of a panel, for the contracts of the extensions that may have one.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
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
            'name them relative to it. Put what the panel loads from elsewhere into its folder, too.',
          run: () => loadsOwnFiles(panel),
        },
      ]

/** What loads an address of another server, by the ending of the file. A link that the reader follows loads nothing. */
const loaders: Readonly<Record<string, RegExp>> = {
  html: /(?:\s(?:src|srcset|data|poster|action)\s*=\s*|<(?:link|base|meta)\b[^>]*?)["']?(?:\d+;\s*url=)?(?:(?:https?|wss?):)?\/\/[^\s"'>]+/gi,
  css: /(?:@import|url\()\s*["']?(?:https?:)?\/\/[^\s"')]+/gi,
  js: /(?:\b(?:from|import|fetch|WebSocket|EventSource|Worker|sendBeacon|open)\s*\(?(?:\s*['"`](?:GET|POST)['"`],)?|\.src\s*=)\s*["'`](?:(?:https?|wss?):)?\/\/[^\s"'`]+/gi,
}

/** In all files of the panel, because its frame blocks what comes from elsewhere. */
function listElsewhere(folder: URL): string[] {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return files.flatMap(({ name, parentPath }) => {
    const loader = loaders[(name.split('.').at(-1) ?? '').replace('mjs', 'js')]
    const text = loader ? readFileSync(join(parentPath, name), 'utf8') : ''
    return loader ? Array.from(text.matchAll(loader), ([found]) => `${name}: ${found.slice(0, 200)}`) : []
  })
}

/** The gateway provides `../../panel.js` and `../../panel.css`. */
function loadsOwnFiles({ folder }: Panel): void {
  expect(listElsewhere(folder), 'what is loaded from elsewhere').toEqual([])
  const html = readFileSync(new URL('index.html', folder), 'utf8')
  expect(html).not.toMatch(/<script(?![^>]*\ssrc=)|<style|\s(?:style|on[a-z]+)\s*=/i)
  const addresses = Array.from(html.matchAll(/\s(?:src|href)\s*=\s*["']?([^"'\s>]+)/gi), ([, address = '']) => address)
  const own = addresses.filter((address) => !/^(?:#|data:|\.\.\/\.\.\/panel\.(?:js|css)$)/.test(address))
  expect(own.filter((address) => /^(?:[a-z]+:|\/|\.\.)/i.test(address))).toEqual([])
  expect(own.filter((address) => !existsSync(fileURLToPath(new URL(address, folder))))).toEqual([])
}
