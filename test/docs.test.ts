// Keeps documents and code together: configuration keys, error codes, links, the contract, and every example of a
// plugin.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { reservedPaths } from '../core/config/hooks-path.ts'
import { createConfigSchema } from '../core/config/schema.ts'
import { errorTable } from '../core/errors.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import { createTestContext } from './contracts.ts'
import { examples, pages } from './docs-examples.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The code spans with which the rows of a page's tables, and its headings, begin. */
const subjectsOf = (page: string) =>
  [...page.matchAll(/^(?:\|\s*|#+ |[-*] )`([^`]+)`/gm)].map(([, subject]) => subject ?? '')

describe('docs/configure.md', async () => {
  const extensions = await loadExtensions({ plugins: [], dir: root, log: createTestContext().log })
  // What holds for every preset is described once.
  const section = new RegExp(`^hooks\\.(?:${[...extensions.presets.keys()].join('|')})\\.(auth)?`)
  const generic = keysOf(createConfigSchema(extensions)).map((key) => key.replace(section, 'hooks.<preset>.$1'))
  const keys = [...new Set(generic.map((key) => key.replace(/^(hooks\.<preset>\.auth)\..*/, '$1')))].toSorted()
  const described = subjectsOf(read('docs/configure.md')).filter((subject) => /^[a-z]\w*(\.|$)/.test(subject))

  it('describes every key of the configuration', () => {
    expect(keys.filter((key) => !described.includes(key))).toEqual([])
  })

  it('describes no key that is not there', () => {
    expect(
      described.filter((key) => !keys.includes(key) && !keys.some((longer) => longer.startsWith(`${key}.`))),
    ).toEqual([])
  })

  it('gives the defaults of the schema', () => {
    const rows = Array.from(
      read('docs/configure.md').matchAll(/^\| `([^`]+)` \| (?:`([^`]*)`)?[^|]*\| /gm),
      ([, key = '', cell]) => [key, cell] as const,
    )
    const defaults = new Map(defaultsOf(createConfigSchema(extensions)))
    const wrong = rows.filter(
      ([key, cell]) => cell !== undefined && defaults.has(key) && !isDeepStrictEqual(valueOf(cell), defaults.get(key)),
    )
    expect(wrong).toEqual([])
    expect(rows.filter(([key, cell]) => cell !== undefined && defaults.has(key)).length).toBeGreaterThan(40)
  })

  it('names the paths that the hooks may not have', () => {
    const [row = ''] = /^\| `hooks\.path` .*$/m.exec(read('docs/configure.md')) ?? []
    expect(reservedPaths.filter((path) => !row.includes(`\`${path}\``))).toEqual([])
  })

  it('finds a description at every key in the schema', () => {
    expect(undescribed(createConfigSchema(extensions), '')).toEqual([])
  })
})

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(
    ([, code, status]) => [code, Number(status)],
  )

  it('has each code with its status, in the order of the table, and no other', () => {
    expect(rows).toEqual(Object.entries(errorTable).map(([code, [status]]) => [code, status]))
  })
})

describe('docs/operate.md, on what is seen from outside', () => {
  const page = read('docs/operate.md')
  const source = filesOf(['core', 'channels', 'plugins']).map(read).join('\n')
  const named = (pattern: RegExp, text: string) =>
    [...new Set(Array.from(text.matchAll(pattern), ([name]) => name))].toSorted()

  it('has every metric and no other', () => {
    const metric = /\b(?:svc_gateway|process)_[a-z0-9_]+\b/g
    expect(named(metric, page)).toEqual(named(metric, filesOf(['core/control']).map(read).join('\n')))
  })

  it('quotes lines of the log that there are', () => {
    const [, table = ''] = /\| `msg` \|[^\n]*\n([^]*?)\n\n/.exec(page) ?? []
    const lines = Array.from(table.matchAll(/^\| (.+?) \|/gm), ([, cell = '']) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, line = '']) => line),
    ).flat()
    expect(lines.length).toBeGreaterThan(10)
    // An ellipsis stands for what differs from one line to the next.
    const pattern = (line: string) => new RegExp(line.split('…').map(RegExp.escape).join('.+'))
    expect(lines.filter((line) => !pattern(line).test(source))).toEqual([])
  })
})

describe('docs/index.md', () => {
  it('leads to every page', () => {
    expect(
      filesOf(['docs']).filter(
        (page) =>
          /^docs\/[^/]+\.md$/.test(page) &&
          page !== 'docs/index.md' &&
          !read('docs/index.md').includes(`](${page.slice(5)})`),
      ),
    ).toEqual([])
  })

  it.each(pages)('and the others name files that there are: %s', (page) => {
    const files = Array.from(
      read(page).matchAll(/`((?:core|channels|plugins|transforms|test)\/[\w./-]+)`/g),
      ([, path = '']) => path,
    )
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })
})

describe('links', () => {
  it.each(filesOf(['*.md']))('of %s lead somewhere', (page) => {
    const links = [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link]) => link ?? '')
    expect(links.filter((link) => !resolves(page, link))).toEqual([])
  })
})

describe('the contract', () => {
  it('explains everything that it exports', () => {
    const contract = read('core/plugin.ts') + read('core/transform.ts') + read('core/tool-api.ts')
    const exported = [...contract.matchAll(/(\*\/\n)?^export (?:interface|type|class|const|function) (\w+)/gm)]
    expect(exported.length).toBeGreaterThan(10)
    expect(exported.filter(([, comment]) => comment === undefined).map(([, , name]) => name)).toEqual([])
  })
})

describe('docs/operate.md', () => {
  it('has a whole unit for systemd', () => {
    const unit = examples.find(({ language }) => language === 'ini')?.text ?? ''
    expect(Array.from(unit.matchAll(/^\[(\w+)\]$/gm), ([, section]) => section)).toEqual(['Unit', 'Service', 'Install'])
  })
})

interface Node {
  description?: string
  default?: unknown
  properties?: Record<string, Node>
  additionalProperties?: Node | boolean
  patternProperties?: Record<string, Node>
  items?: Node
}

/** Every key under a schema, dotted; a key that the user chooses is `<id>` or `<name>`. */
function keysOf(schema: unknown, path = ''): string[] {
  return childrenOf(schema as Node, path).flatMap(([key, child]) =>
    childrenOf(child, key).length > 0 ? keysOf(child, key) : [key],
  )
}

/** Keys with a default of their own, dotted, and the default. */
function defaultsOf(schema: unknown, path = ''): [string, unknown][] {
  return childrenOf(schema as Node, path).flatMap(([key, child]): [string, unknown][] => {
    if (childrenOf(child, key).length > 0) return defaultsOf(child, key)
    return child.default === undefined ? [] : [[key, child.default]]
  })
}

function valueOf(cell: string): unknown {
  try {
    return JSON.parse(cell) as unknown
  } catch {
    return cell
  }
}

function filesOf(folders: readonly string[]): string[] {
  const listed = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', ...folders], {
    cwd: root,
    encoding: 'utf8',
  })
  return listed.split('\n').filter((path) => path !== '' && existsSync(join(root, path)))
}

function undescribed(schema: unknown, path: string): string[] {
  return childrenOf(schema as Node, path).flatMap(([key, child]) =>
    child.description ? undescribed(child, key) : [key],
  )
}

function childrenOf(
  { properties = {}, additionalProperties, patternProperties = {} }: Node,
  path: string,
): [string, Node][] {
  const at = (key: string) => (path ? `${path}.${key}` : key)
  const open = [additionalProperties, ...Object.values(patternProperties)].filter((child) => typeof child === 'object')
  return [
    ...Object.entries(properties).map(([key, child]): [string, Node] => [at(key), child]),
    ...open.map((child): [string, Node] => [at('<id>'), child]),
  ]
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
