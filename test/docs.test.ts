// Checks that the documentation matches the code: configuration keys, error codes, metrics, log messages, commands,
// files, links and the plugin contract.
import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { isDeepStrictEqual } from 'node:util'
import { describe, expect, it } from 'vitest'
import { listCommands, renderPage } from '../.ci/cli-docs.ts'
import { createParser } from '../core/cli/parser.ts'
import { listBuiltinCommands } from '../core/cli/program.ts'
import { reservedPaths } from '../core/config/hooks-path.ts'
import { createConfigSchema } from '../core/config/schema/schema.ts'
import { errorTable } from '../core/errors.ts'
import { createAgentBody } from '../core/hooks/schemas.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import { createTestContext } from './contracts.ts'
import { examples, pages } from './docs-examples.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const read = (path: string) => readFileSync(join(root, path), 'utf8')

/** The code spans at the start of table rows, headings and list items. */
const subjectsOf = (page: string) =>
  [...page.matchAll(/^(?:\|\s*|#+ |[-*] )`([^`]+)`/gm)].map(([, subject]) => subject ?? '')

const matchesOf = (pattern: RegExp, text: string) =>
  [...new Set(Array.from(text.matchAll(pattern), ([, match = '']) => match))].toSorted()

describe('docs/configure.md', async () => {
  const extensions = await loadExtensions({ plugins: [], dir: root, log: createTestContext().log })
  // Keys that all presets share are described once.
  const section = new RegExp(`^hooks\\.(?:${[...extensions.presets.keys()].join('|')})\\.(auth)?`)
  // So are the keys that all channels share. Their own keys are on the pages of the channels.
  const ofChannels = [...extensions.channels].map(([name, { config }]) => ({
    page: `docs/channels/${name}.md`,
    own: keysOf(config, `channels.${name}`),
    keysOfAccounts: keysOf(config, `channels.${name}.accounts.<id>`),
  }))
  const ofPresets = [...extensions.presets].flatMap(([name, { config }]) =>
    config ? [{ page: `docs/${name}.md`, own: keysOf(config, `hooks.${name}`) }] : [],
  )
  const elsewhere = new Set([
    ...ofChannels.flatMap(({ own, keysOfAccounts }) => [...own, ...keysOfAccounts]),
    ...ofPresets.flatMap(({ own }) => own),
  ])
  const allKeys = keysOf(createConfigSchema(extensions))
  const generic = allKeys
    .filter((key) => !elsewhere.has(key))
    .map((key) => key.replace(section, 'hooks.<preset>.$1').replace(/^channels\.[\w-]+\./, 'channels.<name>.'))
  const shared = [
    ...new Set(generic.map((key) => key.replace(/^(hooks\.<preset>\.(?:auth|skip))\..*/, '$1'))),
  ].toSorted()
  const keys = [...new Set([...shared, ...allKeys])]
  const keysOn = (page: string) => subjectsOf(read(page)).filter((subject) => /^[a-z]\w*(\.|$)/.test(subject))
  const described = keysOn('docs/configure.md')
  // A name or id in angle brackets stands for any name.
  const isKey = (name: string) => {
    const pattern = new RegExp(`^${name.split(/<\w+>/).map(RegExp.escape).join('[^.]+')}(?:\\.|$)`)
    return keys.some((key) => pattern.test(key))
  }

  it('describes every key of the configuration', () => {
    expect(shared.filter((key) => !described.includes(key))).toEqual([])
  })

  it.each([...ofChannels, ...ofPresets])('leaves the keys of a channel or preset to $page', ({ page, own }) => {
    expect(own.filter((key) => !keysOn(page).includes(key))).toEqual([])
  })

  it('describes no unknown key', () => {
    expect(described.filter((key) => !isKey(key))).toEqual([])
  })

  it.each(pages)('and other pages name only known keys: %s', (page) => {
    const named = matchesOf(
      /`((?:gateway|hooks|agents|tools|session|providers|channels|storage|log|telemetry)\.[\w.<>-]+)`/g,
      read(page),
    )
    const isOther = (name: string) => /\.(?:json5|ts)$/.test(name) || ['tools.invoke', 'session.delete'].includes(name)
    expect(named.filter((name) => !isOther(name) && !isKey(name))).toEqual([])
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

  it('lists the reserved paths at hooks.path', () => {
    const [row = ''] = /^\| `hooks\.path` .*$/m.exec(read('docs/configure.md')) ?? []
    expect(reservedPaths.filter((path) => !row.includes(`\`${path}\``))).toEqual([])
  })

  it('has a description for every key in the schema', () => {
    expect(undescribed(createConfigSchema(extensions), '')).toEqual([])
  })
})

describe('POST /hooks/agent', async () => {
  const { channels } = await loadExtensions({ plugins: [], dir: root, log: createTestContext().log })
  const fields = Object.keys(createAgentBody(channels).properties)

  it.each(pages)('has the fields that a page says it has: %s', (page) => {
    const text = read(page)
    const [rows, mentions] = [/^\|(.+?)\|.*\bas for .{0,2}POST \/hooks\/agent.*$/gim, /(`\w+`) in a request/g]
    const cells = [...matchesOf(rows, text), ...matchesOf(mentions, text)]
    const named = cells.flatMap((cell) => matchesOf(/`(\w+)`/g, cell))
    expect(named.filter((name) => !fields.includes(name))).toEqual([])
  })
})

describe('docs/errors.md', () => {
  const rows = [...read('docs/errors.md').matchAll(/^\| `(\w+)` \| (\d+) \| (.+) \| (.+) \|$/gm)].map(
    ([, code, status]) => [code, Number(status)],
  )

  it('lists every code with its status, in the order of the table, and no other', () => {
    expect(rows).toEqual(Object.entries(errorTable).map(([code, [status]]) => [code, status]))
  })
})

describe('error codes in the documentation', () => {
  const table: Record<string, readonly unknown[]> = errorTable
  const statusOf = (code: string) => table[code]?.[0]

  it.each(pages)('have the status that the page gives: %s', (page) => {
    const text = read(page)
    const inSentences = Array.from(text.matchAll(/\b([45]\d\d) \(?`([a-z_]+)`/g), ([, status, code = '']) => [
      code,
      status,
    ])
    const inTables = Array.from(
      text.matchAll(/^\| ([45]\d\d(?:, [45]\d\d)*) \| ((?:`\w+`(?:, )?)+) \|/gm),
      ([, statuses = '', codes = '']) => matchesOf(/`(\w+)`/g, codes).map((code) => [code, statuses]),
    ).flat()
    const wrong = [...inSentences, ...inTables].filter(
      ([code = '', statuses]) => !statuses?.includes(String(statusOf(code))),
    )
    expect(wrong).toEqual([])
  })
})

describe('docs/operate.md', () => {
  const page = read('docs/operate.md')
  const source = filesOf(['core', 'channels', 'plugins']).map(read).join('\n')
  const metric = /\b((?:svc_gateway|process)_[a-z0-9_]+)\b/g
  const metrics = matchesOf(metric, filesOf(['core/control']).map(read).join('\n'))

  it('describes every metric and no other', () => {
    expect(matchesOf(metric, page.replaceAll('_bucket[', '['))).toEqual(metrics)
  })

  it.each(['docs/grafana-dashboard.json', ...pages])('and other files name only known metrics: %s', (file) => {
    const named = matchesOf(metric, read(file)).map((name) => name.replace(/_(?:bucket|sum|count)$/, ''))
    expect(named.filter((name) => !metrics.includes(name))).toEqual([])
  })

  it('quotes log messages that exist', () => {
    const [, table = ''] = /\| `msg` \|[^\n]*\n([^]*?)\n\n/.exec(page) ?? []
    const lines = Array.from(table.matchAll(/^\| (.+?) \|/gm), ([, cell = '']) =>
      Array.from(cell.matchAll(/`([^`]+)`/g), ([, line = '']) => line),
    ).flat()
    expect(lines.length).toBeGreaterThan(10)
    // An ellipsis stands for the variable part of a message.
    const pattern = (line: string) => new RegExp(line.split('…').map(RegExp.escape).join('.+'))
    expect(lines.filter((line) => !pattern(line).test(source))).toEqual([])
  })
})

describe('docs/cli.md', () => {
  const program = createParser(listBuiltinCommands(), '', async () => {})
  // Hidden commands and options are internal.
  const visible = program.createHelp().visibleCommands(program)
  const commands = visible.map((command) => command.name())
  const all = [...visible, ...visible.flatMap((command) => command.commands)]
  const options = all.flatMap((command) =>
    command.options.filter(({ hidden }) => !hidden).map(({ long }) => long ?? ''),
  )

  it.each(pages)('and other pages name only known commands: %s', (page) => {
    const named = matchesOf(/(?:`|\$ |npx )(?:svc-gateway|npm start (?:--silent )?--) ([a-z]+)/g, read(page))
    expect(named.filter((name) => !commands.includes(name))).toEqual([])
  })

  it('describes every command, and every option there or in docs/transforms.md', () => {
    const text = read('docs/cli.md') + read('docs/transforms.md')
    expect([...commands, ...options].filter((name) => !text.includes(name))).toEqual([])
  })

  it('has the usage, the options and the examples of every command, as its help has them', () => {
    const page = read('docs/cli.md')
    expect([...listCommands().keys()].filter((name) => !page.includes(`<!-- command: ${name} -->`))).toEqual([])
    expect(page, 'docs/cli.md is out of date; run "npm run docs:cli"').toBe(renderPage(page))
    expect(page.split('<!-- end -->\n\n').filter((part) => part.includes('```sh\n\n```'))).toEqual([])
  })

  it('names only known options', () => {
    const named = matchesOf(/`(--[a-z-]+)/g, read('docs/cli.md'))
    expect(named.filter((name) => !['--silent', '--help', ...options].includes(name))).toEqual([])
  })
})

describe('lists of pages', () => {
  const decisions = 'docs/internals/decisions/'
  const pagesOf = (folder: string) => filesOf([folder]).filter((page) => page.endsWith('.md'))
  it.each([
    ['docs/', 'index.md', pagesOf('docs').filter((page) => !page.startsWith(decisions) || page.endsWith('/README.md'))],
    [decisions, 'README.md', pagesOf(decisions)],
  ])('in %s%s link to every page', (folder, list, expected) => {
    const text = read(folder + list)
    const paths = expected.map((page) => page.slice(folder.length)).filter((path) => path !== list)
    expect(paths.length).toBeGreaterThan(10)
    expect(paths.filter((path) => !text.includes(`](${path})`))).toEqual([])
  })
})

describe('pages', () => {
  // A paragraph is one line. Two paragraphs without a line between them, and markers, are what a bad merge leaves.
  it.each([...pages, 'CHANGELOG.md'])('%s has no remains of a merge', (page) => {
    const prose = read(page).replaceAll(/^```\w*\n[^]*?^```/gm, '')
    expect(prose.match(/^(?:<{7}|={7}|>{7}).*|^[A-Z`*[].{40,}\n[A-Z`*[].{40,}/gm) ?? []).toEqual([])
  })
})

describe('files', () => {
  it.each(pages)('named in %s exist', (page) => {
    const files = matchesOf(/`((?:core|channels|plugins|transforms|test)\/[\w./-]+)`/g, read(page))
    expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
  })

  it('named in docs/internals/architecture.md without their ending exist in core/', () => {
    const files = matchesOf(
      /`((?!core|channels|plugins|test)[a-z]+\/[a-z-]+)`/g,
      read('docs/internals/architecture.md'),
    )
    expect(files.length).toBeGreaterThan(5)
    expect(files.filter((path) => !existsSync(join(root, `core/${path}.ts`)))).toEqual([])
  })
})

describe('links', () => {
  const linksOf = (page: string) =>
    [...read(page).matchAll(/\]\((?!https?:|mailto:)([^)\s]+)\)/g)].map(([, link]) => link ?? '')
  const { files } = JSON.parse(read('package.json')) as { files: string[] }
  /** npm adds these three by itself. */
  const published = filesOf([...files, 'README.md', 'LICENSE', 'package.json'])

  it.each(filesOf(['*.md']))('in %s resolve, with their anchors', (page) => {
    expect(linksOf(page).filter((link) => !resolves(page, link))).toEqual([])
  })

  it.each(published.filter((file) => file.endsWith('.md')))('in %s resolve in the published package', (page) => {
    const targets = linksOf(page).flatMap((link) => {
      const [path = ''] = link.split('#')
      return path ? [join(dirname(page), path)] : []
    })
    expect(targets.filter((target) => !published.includes(target))).toEqual([])
  })
})

describe('the plugin contract', () => {
  it('has a doc comment on every export', () => {
    const names = [
      'alerts',
      'command-input',
      'connect-error',
      'curl/propose',
      'curl/read-curl',
      'escape-for-terminal',
      'event-message',
      'fields',
      'git',
      'payload',
      'phone-number',
      'read-bytes',
      'read-html',
      'send-result',
      'shapes',
      'signed-token',
      'text',
    ]
    const kit = names.map((name) => read(`core/kit/${name}.ts`))
    const kinds = readdirSync(join(root, 'core/plugin')).map((file) => read(`core/plugin/${file}`))
    const contract = [...kinds, ...kit].join('')
    const exported = [...contract.matchAll(/(\*\/\n)?^export (?:interface|type|class|const|function) (\w+)/gm)]
    expect(exported.length).toBeGreaterThan(10)
    expect(exported.filter(([, comment]) => comment === undefined).map(([, , name]) => name)).toEqual([])
  })
})

describe('docs/deploy.md', () => {
  it('has a complete systemd unit', () => {
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

/** All dotted keys of a schema. A key that the user chooses is `<id>`. */
function keysOf(schema: unknown, path = ''): string[] {
  return childrenOf(schema as Node, path).flatMap(([key, child]) =>
    childrenOf(child, key).length > 0 ? keysOf(child, key) : [key],
  )
}

/** Dotted keys with their defaults, for keys that have one. */
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

/** Whether a link points to a file, and its fragment to a heading. */
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

it('describes every function and value of the kit in docs/plugins.md', () => {
  const [, values = ''] = /── values\n([^]*?)(?:\n──|$)/.exec(read('test/surface/kit.txt')) ?? []
  const names = values.trim().split(/\s+/)
  expect(names.length).toBeGreaterThan(50)
  expect(names.filter((name) => !new RegExp(`\\b${name}\\b`).test(read('docs/plugins.md')))).toEqual([])
})
