// The check of panels finds each of many faults.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, it } from 'vitest'
import { temporaryFolder } from '../helpers.ts'
import { runCheck } from './check.ts'
import { expectFailure } from './expect-failure.ts'
import { expectTable } from './mutant-table.ts'
import { panelChecks } from './panel-checks.ts'

const sound = {
  'index.html': `<html><head><link rel="stylesheet" href="panel.css" /><script src="panel.js"></script></head>
    <body><a href="https://example.com/help">Help</a></body></html>`,
  'panel.css': 'body { background: url(panel.svg) }',
  'panel.js': "import { connectPanel } from '../../panel.js'\nconst help = 'https://example.com/help'",
}

type Files = Partial<typeof sound>

function checksOf(changes: Files) {
  const folder = temporaryFolder()
  for (const [name, text] of Object.entries({ ...sound, ...changes })) writeFileSync(join(folder, name), text)
  return panelChecks({ panel: { title: 'Shop', folder: pathToFileURL(`${folder}/`) } })
}

const check = 'has a panel that loads only its own files'

const mutants: readonly (readonly [string, Files])[] = [
  ['asks another server', { 'panel.js': "await fetch('https://example.com/prices')" }],
  ['connects to another server', { 'panel.js': "new WebSocket('wss://example.com/prices')" }],
  ['has a script in its page', { 'index.html': '<script>alert(1)</script>' }],
  ['has a style sheet of another server', { 'panel.css': '@import "https://example.com/fonts.css";' }],
  ['imports a module of another server', { 'panel.js': "import chart from 'https://example.com/chart.js'" }],
  ['leads to another server', { 'index.html': '<meta http-equiv="refresh" content="0; url=https://example.com/" />' }],
  ['names a file that it does not have', { 'index.html': '<script src="nothing.js"></script>' }],
  ['shows a picture of another server', { 'panel.css': 'body { background: url(//example.com/pixel.png) }' }],
]

describe('the check of panels', () => {
  it('accepts a panel that loads only its own files', async () => {
    for (const one of checksOf({ 'index.html': sound['index.html'].replace(/<a .*<\/a>/, '') })) await runCheck(one)
    expectTable(
      'Panels',
      mutants.map(([fault]) => [fault, check]),
      checksOf({}),
    )
  })

  it.each(mutants)('finds a panel that %s', (_fault, files) => expectFailure(checksOf(files), check))
})
