// What the pages show is tried: every configuration is checked, every request is sent, the backup is restored.
import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeProblem } from '../core/config/config-error.ts'
import { readConfigFile } from '../core/config/file/read.ts'
import { resolveConfig } from '../core/config/resolve.ts'
import { findWarnings } from '../core/findings.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import { openStore } from '../core/store/open.ts'
import { createTestContext } from './contracts.ts'
import { anySecret, configurationAround, curlsOf, examples, files, variables } from './docs-examples.ts'
import { ask, startGateway, temporaryFolder } from './helpers.ts'
import { startApp, token } from './http/app.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

describe('the examples of the pages', () => {
  const ofLanguage = (language: string) => examples.filter((one) => one.language === language)

  it.each(ofLanguage('json5').map((one) => [one.place, one] as const))(
    'configure the gateway without an error or a warning: %s',
    async (_place, example) => {
      const dir = temporaryFolder()
      symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
      mkdirSync(join(dir, 'transforms'))
      for (const { name, text } of files)
        for (const folder of [dir, join(dir, 'transforms')]) writeFileSync(join(folder, name), text)
      const file = join(dir, 'gateway.json5')
      writeFileSync(file, JSON.stringify(configurationAround(example)), { mode: 0o600 })
      const document = readConfigFile(file, variables)
      const extensions = await loadExtensions({ plugins: document.plugins, dir, log: createTestContext().log })
      onTestFinished(() => extensions.close())
      expect(extensions.problems).toEqual([])
      expect(
        (await findWarnings({ document, resolved: resolveConfig(document, extensions) }, { extensions })).map(
          describeProblem,
        ),
      ).toEqual([])
    },
  )

  it.each(ofLanguage('json').map(({ place, text }) => [place, text]))(
    'are JSON where they say so: %s',
    (_place, text = '') => {
      expect(() => JSON.parse(text.startsWith('"') ? `{${text}}` : text) as unknown).not.toThrow()
    },
  )

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
    const [delivery] = (await running.get('/api/requests')).body.items
    const curls = ofLanguage('sh').flatMap((one) => curlsOf(one, { RUN_ID: body.runId, ID: delivery.id }))
    expect(curls.length).toBeGreaterThan(15)
    const answers = await Promise.all(
      curls.map(async ({ place, path, init }) => [place, path, (await fetch(`${running.url}${path}`, init)).status]),
    )
    // One shows how a tool is refused.
    expect(answers.filter(([, , status]) => status !== 200).map(([place]) => place)).toEqual([
      expect.stringContaining('docs/policy.md:'),
    ])
  })
})

describe('docs/operate.md', () => {
  const shell = examples
    .filter(({ page, language }) => page === 'docs/operate.md' && language === 'sh')
    .map(({ text }) => text)

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
})

describe('docs/errors.md', () => {
  it.each([
    ['no JSON', '{'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['a list', '[]'],
    ['a number that is out of range', '{"a":1e999}'],
  ])('names the code of a body that is or holds %s', async (what, body) => {
    const app = await startApp()
    const code = (
      await ask(`${app.url}/hooks/echo`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })
    ).body.error.type as string
    const [, text] =
      new RegExp(`^\\| \`${code}\` \\| 400 \\| (.+?) \\|`, 'm').exec(
        readFileSync(join(root, 'docs', 'errors.md'), 'utf8'),
      ) ?? []
    const sayings: Record<string, RegExp> = {
      'no JSON': /is not JSON/,
      '65 levels': /64 levels/,
      'a list': /not an object/,
    }
    expect(text).toMatch(sayings[what] ?? /out of range/)
  })
})
