// Runs the examples of the documentation: checks every configuration, sends every request, restores the backup.
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { describeProblem } from '../core/config/config-error.ts'
import { readConfigFile } from '../core/config/file/read.ts'
import { resolveConfig } from '../core/config/resolve.ts'
import { createJsonSchema } from '../core/config/schema/json-schema.ts'
import { findWarnings } from '../core/findings.ts'
import { loadExtensions } from '../core/loader/registry.ts'
import { listProblems } from '../core/typebox.ts'
import { openStore } from './store/open-store.ts'
import { createTestContext } from './contracts.ts'
import {
  anySecret,
  configurationAround,
  type Curl,
  curlsOf,
  type Example,
  examples,
  files,
  sources,
  variables,
} from './docs-examples.ts'
import { ask, type Document, shareGateway, startGateway, temporaryFolder } from './helpers.ts'
import { startApp, token } from './http/app.ts'
import { developmentPackages, installPackage } from './install-package.ts'
import { program } from './program.ts'
import { checkExactly } from './recorder.ts'

const root = fileURLToPath(new URL('..', import.meta.url))

/** A folder with the TypeScript examples and the packages that the documentation tells plugin authors to install. */
function folderOfAuthor(): string {
  const dir = temporaryFolder()
  installPackage(dir, { others: developmentPackages })
  mkdirSync(join(dir, 'transforms'))
  writeFileSync(join(dir, 'package.json'), '{ "type": "module" }')
  for (const { name, text } of sources) {
    const isTransform = text.includes('TransformInput')
    writeFileSync(join(dir, isTransform ? 'transforms' : '', name), text)
  }
  return dir
}

describe('documentation examples', () => {
  const ofLanguage = (language: string) => examples.filter((one) => one.language === language)

  it.each(ofLanguage('json5').map((one) => [one.location, one] as const))(
    'pass the configuration check without an error or a warning: %s',
    async (_location, example) => {
      const dir = temporaryFolder()
      symlinkSync(join(root, 'node_modules'), join(dir, 'node_modules'))
      mkdirSync(join(dir, 'transforms'))
      for (const { name, text } of files)
        for (const folder of [dir, join(dir, 'transforms')]) writeFileSync(join(folder, name), text)
      const file = join(dir, 'gateway.json5')
      const written = configurationAround(example)
      writeFileSync(file, JSON.stringify(written), { mode: 0o600 })
      const document = readConfigFile(file, variables)
      const extensions = await loadExtensions({ plugins: document.plugins, dir, log: createTestContext().log })
      onTestFinished(() => extensions.close())
      expect(extensions.problems).toEqual([])
      expect(listProblems(createJsonSchema(extensions), written)).toEqual([])
      expect((await findWarnings(resolveConfig(document, extensions), { extensions })).map(describeProblem)).toEqual([])
    },
  )

  it.each(ofLanguage('json').map(({ location, text }) => [location, text]))(
    'are valid JSON where they are marked as JSON: %s',
    (_location, text = '') => {
      expect(() => JSON.parse(text.startsWith('"') ? `{${text}}` : text) as unknown).not.toThrow()
    },
  )

  it('are complete files with names of their own where they are TypeScript', () => {
    const names = sources.map(({ name }) => name)
    expect(sources.filter(({ name }) => name === '').map(({ location }) => location)).toEqual([])
    expect(names).toEqual([...new Set(names)])
  })

  it('have no type errors, with the tsconfig.json of docs/plugins.md and stricter settings', () => {
    const dir = folderOfAuthor()
    const tsconfig = ofLanguage('json').find(({ text }) => text.includes('"compilerOptions"'))
    writeFileSync(join(dir, 'tsconfig.json'), tsconfig?.text ?? '')
    const compilerOptions = {
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
      noUnusedLocals: true,
      noUnusedParameters: true,
    }
    writeFileSync(join(dir, 'stricter.json'), JSON.stringify({ extends: './tsconfig.json', compilerOptions }))
    const tsc = join(root, 'node_modules', '.bin', 'tsc')
    const { stdout } = spawnSync(tsc, ['-p', 'stricter.json'], { cwd: dir, encoding: 'utf8' })
    expect(stdout).toBe('')
  })

  it('have test suites that pass', { timeout: 120_000 }, () => {
    const dir = folderOfAuthor()
    const vitest = join(root, 'node_modules', 'vitest', 'vitest.mjs')
    const args = [vitest, 'run', '--no-isolate', '--maxWorkers=1', '--testTimeout=30000']
    args.push('--reporter=json', '--outputFile=report.json')
    spawnSync(process.execPath, args, { cwd: dir, env: { PATH: process.env['PATH'], HOME: temporaryFolder() } })
    const { testResults } = JSON.parse(readFileSync(join(dir, 'report.json'), 'utf8')) as {
      testResults: { name: string; message: string; assertionResults: { failureMessages?: string[] }[] }[]
    }
    const failures = testResults.flatMap(({ message, assertionResults }) => [
      message,
      ...assertionResults.flatMap(({ failureMessages = [] }) => failureMessages),
    ])
    expect(failures.filter(Boolean)).toEqual([])
    expect(testResults.map(({ name }) => basename(name)).toSorted()).toEqual(
      sources
        .map(({ name }) => name)
        .filter((name) => name.endsWith('.test.ts'))
        .toSorted(),
    )
  })

  it('get a 200 for every request', async () => {
    const github = { auth: { secret: anySecret } }
    const support = { tools: { allow: ['session_status', 'group:messaging'] } }
    const mappings = [{ match: { path: 'deploys' }, messageTemplate: '{{ service }} {{ author.name }}' }]
    const running = await startGateway({
      hooks: { presets: ['gmail', 'github'], github, mappings },
      tools: { profile: 'coding' },
      agents: { main: {}, support },
    })
    const { body } = await running.post('/hooks/agent', { message: 'x', deliver: false, wakeMode: 'next-heartbeat' })
    const [request] = (await running.get('/api/requests')).body.items
    // test/docs-start.test.ts and test/docs-recipes.test.ts send those of their pages.
    const shell = ofLanguage('sh')
      .filter(({ page }) => !['docs/start.md', 'docs/recipes.md'].includes(page))
      // The example of a service, for `import curl`.
      .filter(({ text }) => !text.includes('https://example.com/your-endpoint'))
      // The entity tag is that of another file.
      .filter(({ text }) => !text.includes('If-Match'))
    const curls = shell.flatMap((one) => curlsOf(one, { RUN_ID: body.runId, ID: request.id }))
    expect(curls.length).toBeGreaterThan(15)
    const answers = await Promise.all(
      curls.map(async ({ location, path, init }) => [
        location,
        path,
        (await fetch(`${running.url}${path}`, init)).status,
      ]),
    )
    // One example shows a tool that is not allowed.
    expect(answers.filter(([, , status]) => status !== 200).map(([location]) => location)).toEqual([
      expect.stringContaining('docs/policy.md:'),
    ])
  })
})

/** The commands of a page that JSON directly follows: the answer. */
function answersOn(page: string): { example: Example; expected: Document & { layer?: string } }[] {
  const onPage = examples.filter((one) => one.page === page)
  return onPage.flatMap((example, index) => {
    const next = onPage[index + 1]
    const end = lineOf(example) + example.text.split('\n').length
    return example.language === 'sh' && next?.language === 'json' && lineOf(next) - end < 5
      ? [{ example, expected: JSON.parse(next.text) as Document }]
      : []
  })
}

const lineOf = ({ location }: Example): number => Number(location.split(':')[1])

interface Operation {
  responses: { 200: { content: { 'application/json': { schema: Document } } } }
}

describe('docs/http.md', () => {
  const { get } = shareGateway({ hooks: { mappings: [{ match: { path: 'deploys' }, messageTemplate: 'x' }] } })

  it('shows responses that fit the OpenAPI document, property for property', async () => {
    const { paths } = (await get('/openapi.json')).body as { paths: Record<string, Record<string, Operation>> }
    const checkOf = ({ path, init }: Curl) => {
      const found = Object.keys(paths).find((one) =>
        new RegExp(`^${one.replaceAll(/\{\w+\}/g, '[^/]+')}(\\?|$)`).test(path),
      )
      const operation = paths[found ?? '']![init.method?.toLowerCase() ?? 'get'] as Operation
      return checkExactly(operation.responses[200].content['application/json'].schema)
    }
    const shown = answersOn('docs/http.md').flatMap(({ example, expected }) =>
      curlsOf(example, { RUN_ID: 'x', ID: 'x' }).map((curl) => ({ curl, expected })),
    )
    expect(shown.map(({ curl }) => curl.path)).toEqual(expect.arrayContaining(['/runs/x', '/api/me']))
    const misfits = shown.flatMap(({ curl, expected }) =>
      checkOf(curl)
        .problems(expected)
        .map(({ path, problem }) => `${curl.location}: ${path} ${problem}`),
    )
    expect(misfits).toEqual([])
  })
})

describe('docs/policy.md', () => {
  const answered = answersOn('docs/policy.md')

  it('shows the real responses', async () => {
    const support = { tools: { allow: ['session_status', 'group:messaging'] } }
    const running = await startGateway({ tools: { profile: 'coding' }, agents: { main: {}, support } })
    expect(answered.length).toBeGreaterThan(2)
    for (const { example, expected } of answered) {
      const [{ path, init }] = curlsOf(example, {}) as [Curl]
      const { body } = await ask(`${running.url}${path}`, init)
      if (expected.layer === undefined) expect(body).toEqual(expected)
      else expect(body.layers).toContainEqual(expected)
    }
  })
})

describe('docs/operate.md', () => {
  const shell = examples
    .filter(({ page, language }) => page === 'docs/operate.md' && language === 'sh')
    .map(({ text }) => text)

  it('restores the backup, including the files of agents', async () => {
    const dir = temporaryFolder()
    const open = () => openStore({ url: 'sqlite:state/gateway.db', dir, log: createTestContext().log })
    const note = join(dir, 'state', 'workspaces', 'main', 'HEARTBEAT.md')
    const command = `'${process.execPath}' '${program}' `
    const run = (text = '') =>
      execFileSync('sh', ['-e', '-c', text.replace('svc-gateway ', command)], { cwd: dir, stdio: 'pipe' })
    const store = await open()
    mkdirSync(dirname(note), { recursive: true })
    writeFileSync(note, 'as it was')
    await store.setState('docs', 'backup', 'as it was')
    writeFileSync(join(dir, 'gateway.json5'), '{}')
    const [backup, restore] = shell.filter((text) => /\b(?:backup|restore)\b/.test(text))
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
    ['invalid JSON', '{'],
    ['65 levels', `${'['.repeat(65)}${']'.repeat(65)}`],
    ['an array', '[]'],
    ['an out-of-range number', '{"a":1e999}'],
  ])('documents the code for a body with %s', async (what, body) => {
    const app = await startApp()
    const code = (
      await ask(`${app.url}/hooks/echo`, { method: 'POST', headers: { authorization: `Bearer ${token}` }, body })
    ).body.error.type as string
    const [, text] =
      new RegExp(`^\\| \`${code}\` \\| 400 \\| (.+?) \\|`, 'm').exec(
        readFileSync(join(root, 'docs', 'errors.md'), 'utf8'),
      ) ?? []
    const patterns: Record<string, RegExp> = {
      'invalid JSON': /is not JSON/,
      '65 levels': /64 levels/,
      'an array': /not an object/,
    }
    expect(text).toMatch(patterns[what] ?? /out of range/)
  })
})
