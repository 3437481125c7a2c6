// Keeps documents and code together: configuration keys, error codes, links, the contract, and every example of a plugin.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { createConfigSchema } from '../core/config/schema.ts'
import { errorTable } from '../core/errors.ts'
import { loadParts } from '../core/loader/registry.ts'
import { createTestContext } from './contracts.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The code spans with which the rows of a page's tables, and its headings, begin. */
const subjectsOf = (page: string) => [...page.matchAll(/^(?:\|\s*|#+ |[-*] )`([^`]+)`/gm)].map(([, subject]) => subject ?? '')

describe('docs/configure.md', async () => {
  const parts = await loadParts({ plugins: [], dir: root, log: createTestContext().log })
  // What holds for every preset is described once.
  const section = new RegExp(`^hooks\\.(?:${[...parts.presets.keys()].join('|')})\\.(auth)?`)
  const generic = keysOf(createConfigSchema(parts)).map((key) => key.replace(section, 'hooks.<preset>.$1'))
  const keys = [...new Set(generic.map((key) => key.replace(/^(hooks\.<preset>\.auth)\..*/, '$1')))].toSorted()
  const described = subjectsOf(read('docs/configure.md')).filter((subject) => /^[a-z]\w*(\.|$)/.test(subject))

  it('describes every key of the configuration', () => {
    expect(keys.filter((key) => !described.includes(key))).toEqual([])
  })

  it('describes no key that is not there', () => {
    expect(described.filter((key) => !keys.includes(key) && !keys.some((longer) => longer.startsWith(`${key}.`)))).toEqual([])
  })

  it('finds a description at every key in the schema', () => {
    expect(undescribed(createConfigSchema(parts), '')).toEqual([])
  })
})

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(([, code, status]) => [code, Number(status)])

  it('has each code with its status, in the order of the table, and no other', () => {
    expect(rows).toEqual(Object.entries(errorTable).map(([code, [status]]) => [code, status]))
  })
})

describe('links', () => {
  const pages = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], { cwd: root, encoding: 'utf8' })
    .split('\n')
    .filter(Boolean)

  it.each(pages.filter((page) => existsSync(join(root, page))))('of %s lead somewhere', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link]) => link ?? '')
    expect(links.filter((link) => !resolves(page, link))).toEqual([])
  })
})

describe('the contract', () => {
  it('explains everything that it exports', () => {
    const contract = read('core/plugin.ts') + read('core/transform.ts') + read('core/verbs.ts')
    const exported = [...contract.matchAll(/(\*\/\n)?^export (?:interface|type|class|const|function) (\w+)/gm)]
    expect(exported.length).toBeGreaterThan(10)
    expect(exported.filter(([, comment]) => comment === undefined).map(([, , name]) => name)).toEqual([])
  })
})

interface Node {
  description?: string
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  patternProperties?: Record<string, Node>
  items?: Node
}

/** Every key under a schema, dotted; a key that the user chooses is `<id>` or `<name>`. */
function keysOf(schema: unknown, path = ''): string[] {
  return childrenOf(schema as Node, path).flatMap(([key, child]) => (childrenOf(child, key).length > 0 ? keysOf(child, key) : [key]))
}

function undescribed(schema: unknown, path: string): string[] {
  return childrenOf(schema as Node, path).flatMap(([key, child]) => (child.description ? undescribed(child, key) : [key]))
}

function childrenOf({ properties = {}, additionalProperties, patternProperties = {} }: Node, path: string): [string, Node][] {
  const at = (key: string) => (path ? `${path}.${key}` : key)
  const open = [additionalProperties, ...Object.values(patternProperties)].filter((child) => typeof child === 'object')
  return [...Object.entries(properties).map(([key, child]): [string, Node] => [at(key), child]), ...open.map((child): [string, Node] => [at('<id>'), child])]
}

/** Whether a link leads to a file, and its fragment to a heading. */
function resolves(page: string, link: string): boolean {
  const [path = '', fragment] = link.split('#')
  const target = path ? join(dirname(page), path) : page
  if (!existsSync(join(root, target))) return false
  return !fragment || !target.endsWith('.md') || headingsOf(read(target)).includes(fragment)
}

const headingsOf = (text: string) =>
  [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
