// The exported surface of `svc-gateway/plugin`, `/kit`, `/transform` and `/testing`: their names and types are those
// of a file, so that nobody changes them without noticing.
import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import * as kit from '../core/kit/kit.ts'
import * as contract from '../core/plugin/plugin.ts'
import * as transform from '../core/transform.ts'
import * as testing from './contracts.ts'

const types = fileURLToPath(new URL('../dist/types', import.meta.url))

/** The declarations of a module and of the modules inside the folders that it imports, without comments. */
function readSurface(entry: string, folders: readonly string[]): string {
  const texts = new Map<string, string>()
  const add = (path: string): void => {
    if (texts.has(path) || !folders.some((folder) => path.startsWith(folder))) return
    const text = withoutComments(readFileSync(join(types, path.replace(/\.ts$/, '.d.ts')), 'utf8'))
    texts.set(path, text)
    for (const [, target = ''] of text.matchAll(/(?:from |import\()['"](\.[^'"]+)['"]/g))
      add(join(dirname(path), target))
  }
  add(entry)
  const parts = [...texts].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return parts.map(([path, text]) => `── ${path}\n${text}`).join('\n')
}

/** The compiler writes comments on lines of their own. */
const withoutComments = (text: string): string => text.replaceAll(/^ *(?:\/\*[^]*?\*\/|\/\/.*)\n/gm, '')

describe.each([
  { name: 'plugin', entry: 'core/plugin/plugin.ts', folders: ['core/'], module: contract },
  {
    name: 'kit',
    entry: 'core/kit/kit.ts',
    folders: ['core/kit/', 'core/deadline.ts', 'core/reconnect.ts', 'core/serial-queue.ts'],
    module: kit,
  },
  {
    name: 'transform',
    entry: 'core/transform.ts',
    folders: ['core/transform.ts', 'core/action.ts', 'core/kit/'],
    module: transform,
  },
  { name: 'testing', entry: 'test/contracts.ts', folders: ['test/contracts'], module: testing },
])('svc-gateway/$name', ({ name, entry, folders, module }) => {
  // CONTRIBUTING.md says how to change the file.
  it('has the names and types of its file; a change needs an entry in CHANGELOG.md, and `-u`', async () => {
    const values = `── values\n${Object.keys(module).toSorted().join('\n')}\n`
    const file = fileURLToPath(new URL(`./surface/${name}.txt`, import.meta.url))
    await expect(`${values}\n${readSurface(entry, folders)}`).toMatchFileSnapshot(file)
  })
})
