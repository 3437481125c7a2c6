// Keeps documents and code together: configuration keys, error codes, links, the contract, and every example of a plugin.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeProblem } from '../core/config/config-error.ts'
import { readConfigFile } from '../core/config/file.ts'
import { resolveConfig } from '../core/config/resolve.ts'
import { createConfigSchema } from '../core/config/schema.ts'
import { errorTable } from '../core/errors.ts'
import { findWarnings } from '../core/findings.ts'
import { loadParts } from '../core/loader/registry.ts'
import { openStore } from '../core/store/open.ts'
import { createTestContext } from './contracts.ts'
import { anySecret, configurationAround, curlsOf, examples, files, variables } from './docs-examples.ts'
import { ask, startGateway, temporaryFolder } from './helpers.ts'
import { startApp, token } from './http/app.ts'

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

  it.each([
    ['no JSON', '{'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['a list', '[]'],
    ['a number that is out of range', '{"a":1e999}'],
  ])('names the code of a body that is or holds %s', async (what, body) => {
    const app = await startApp()
    const code = (await ask(`${app.url}/hooks/echo`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })).body.error.type as string
    const [, text] = new RegExp(`^\\| \`${code}\` \\| 400 \\| (.+?) \\|`, 'm').exec(read('docs/errors.md')) ?? []
    const sayings: Record<string, RegExp> = { 'no JSON': /is not JSON/, '65 levels': /64 levels/, 'a list': /not an object/ }
    expect(text).toMatch(sayings[what] ?? /out of range/)
  })

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

describe('the examples of the pages', () => {
  const ofLanguage = (language: string) => examples.filter((one) => one.language === language)

  it.each(ofLanguage('json5').map((one) => [one.place, one] as const))('configure the gateway without an error or a warning: %s', async (_place, example) => {
    const dir = temporaryFolder()
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    mkdirSync(join(dir, 'transforms'))
    for (const { name, text } of files) for (const folder of [dir, join(dir, 'transforms')]) writeFileSync(join(folder, name), text)
    const file = join(dir, 'gateway.json5')
    writeFileSync(file, JSON.stringify(configurationAround(example)), { mode: 0o600 })
    const document = readConfigFile(file, variables)
    const parts = await loadParts({ plugins: document.plugins, dir, log: createTestContext().log })
    onTestFinished(() => parts.close())
    expect(parts.problems).toEqual([])
    expect((await findWarnings({ document, resolved: resolveConfig(document, parts) }, { parts })).map(describeProblem)).toEqual([])
  })

  it.each(ofLanguage('json').map(({ place, text }) => [place, text]))('are JSON where they say so: %s', (_place, text = '') => {
    expect(() => JSON.parse(text.startsWith('"') ? `{${text}}` : text) as unknown).not.toThrow()
  })

  it('of requests are answered 200', async () => {
    const github = { auth: { secret: anySecret } }
    const support = { tools: { allow: ['session_status', 'group:messaging'] } }
    const mappings = [{ match: { path: 'deploys' }, messageTemplate: '{{ service }} {{ author.name }}' }]
    const running = await startGateway({
      hooks: { presets: ['gmail', 'github'], github, mappings },
      tools: { profile: 'coding' },
      agents: { main: {}, support },
    })
    const { body } = await running.post('/hooks/agent', { message: 'x', deliver: false, wakeMode: 'next-heartbeat' })
    const [delivery] = (await running.get('/api/deliveries')).body.items
    const curls = ofLanguage('sh').flatMap((one) => curlsOf(one, { RUN_ID: body.runId, ID: delivery.id }))
    expect(curls.length).toBeGreaterThan(15)
    const answers = await Promise.all(curls.map(async ({ place, path, init }) => [place, path, (await fetch(`${running.url}${path}`, init)).status]))
    // One shows how a tool is refused.
    expect(answers.filter(([, , status]) => status !== 200).map(([place]) => place)).toEqual([expect.stringContaining('docs/policy.md:')])
  })
})

describe('docs/operate.md', () => {
  const shell = examples.filter(({ page, language }) => page === 'docs/operate.md' && language === 'sh').map(({ text }) => text)

  it('restores what its backup kept, the files of agents included', async () => {
    const dir = temporaryFolder()
    symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
    const open = () => openStore({ url: 'sqlite:state/gateway.db', dir, log: createTestContext().log })
    const note = join(dir, 'state', 'workspaces', 'main', 'HEARTBEAT.md')
    const run = (command = '') => execFileSync('sh', ['-e', '-c', command], { cwd: dir, stdio: 'pipe' })
    const store = await open()
    mkdirSync(dirname(note), { recursive: true })
    writeFileSync(note, 'as it was')
    await store.setState('docs', 'backup', 'as it was')
    writeFileSync(join(dir, 'gateway.json5'), '{}')
    const [backup, restore] = shell
    run(backup)
    await store.setState('docs', 'backup', 'later')
    await store.close()
    writeFileSync(note, 'later')
    run(restore)
    const restored = await open()
    onTestFinished(() => restored.close())
    expect([await restored.getState('docs', 'backup'), readFileSync(note, 'utf8')]).toEqual(['as it was', 'as it was'])
  })

  it('has a whole unit for systemd', () => {
    const unit = examples.find(({ language }) => language === 'ini')?.text ?? ''
    expect(Array.from(unit.matchAll(/^\[(\w+)\]$/gm), ([, section]) => section)).toEqual(['Unit', 'Service', 'Install'])
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
