// The toolset contract accepts a correct toolset and finds each of many faults.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { connect, type AddressInfo } from 'node:net'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterAll, describe, expect, it } from 'vitest'
import { defineTool, defineToolset, InputError, type Tool, Type } from '../../core/plugin/plugin.ts'
import { temporaryFolder } from '../helpers.ts'
import { runCheck } from './check.ts'
import { expectFailure } from './expect-failure.ts'
import { expectTable } from './mutant-table.ts'
import { toolsetContract } from './toolset.ts'
import { toolsetChecks } from './toolset-checks.ts'

const service = createServer((_request, response) => void response.end(JSON.stringify({ title: 'Tea' })))
await once(service.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void service.close())
const { port } = service.address() as AddressInfo
const config = { url: `http://127.0.0.1:${port}`, token: 'the-token-of-the-service' }

type Fault =
  | 'accepts wrong arguments'
  | 'cannot be repeated although it says so'
  | 'has a misspelled member'
  | 'has no schema of its arguments'
  | 'has the token in an error'
  | 'has the token in a result'
  | 'has the token in the error of a lost connection'
  | 'has the token in the log'
  | 'ignores the abort'
  | 'ignores the abort of a pause'
  | 'leaves a process'
  | 'leaves a socket'
  | 'leaves a timer'
  | 'opens a tool that it does not expect'
  | 'refuses with any error'
  | 'returns what JSON cannot hold'

interface Config {
  url: string
  token: string
}

const Args = Type.Object({ query: Type.String({ minLength: 1 }) })

const shop = (fault?: Fault) =>
  defineToolset<Config>({
    name: 'shop',
    description: 'Searches a shop.',
    config: Type.Object({
      url: Type.String({ description: 'Address.' }),
      token: Type.String({ secret: true, description: 'Token.' }),
    }),
    expected: () => [{ name: fault === 'opens a tool that it does not expect' ? 'shop_find' : 'shop_search' }],
    open: async (config) => ({ tools: [search(config, fault)], close: async () => undefined }),
  })

const schemas: Partial<Record<Fault, Tool['args']>> = {
  'accepts wrong arguments': Type.Object({ query: Type.String() }),
  'refuses with any error': Type.Object({ query: Type.String() }),
  'has no schema of its arguments': Type.Object({}),
}

const search = ({ url, token }: Config, fault: Fault | undefined) => {
  let count = 0
  return defineTool<{ query: string }>({
    ...(fault === 'cannot be repeated although it says so' && { repeatable: true }),
    ...(fault === 'has a misspelled member' && { optin: true }),
    name: 'shop_search',
    description: 'Searches the shop.',
    args: (fault && schemas[fault]) ?? Args,
    async execute({ query }, { signal, log }) {
      if (fault === 'refuses with any error' && query === '') throw new Error('The query is empty.')
      if (query === '*') throw new InputError('Name words.')
      if (fault === 'cannot be repeated although it says so' && count++ > 0) throw new Error('It was done.')
      if (fault === 'leaves a process') spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 5_000)'])
      if (fault === 'leaves a timer') setTimeout(() => undefined, 60_000)
      if (fault === 'leaves a socket') connect(port, '127.0.0.1')
      if (fault === 'has the token in the log') log.info({ headers: { authorization: token } }, 'searching')
      if (fault === 'ignores the abort of a pause') await delay(2_000)
      const response = await fetch(`${url}/?q=${query}`, {
        headers: { authorization: token },
        ...(fault !== 'ignores the abort' && { signal }),
      }).catch((error: unknown) => {
        const detail = fault === 'has the token in the error of a lost connection' ? ` (${token})` : ''
        throw new Error(`The shop cannot be reached${detail}.`, { cause: error })
      })
      if (!response.ok)
        throw new Error(`The shop answered ${response.status}${fault === 'has the token in an error' ? token : ''}.`)
      const found = (await response.json()) as object
      if (fault === 'returns what JSON cannot hold') return new Map([['found', found]])
      return fault === 'has the token in a result' ? { ...found, request: `${url}?token=${token}` } : found
    },
  })
}

const suite = {
  config,
  calls: [{ tool: 'shop_search', args: { query: 'tea' } }],
  refused: [
    { tool: 'shop_search', args: { query: '' } },
    { tool: 'shop_search', args: { query: '*' } },
  ],
  waitMs: 300,
}

toolsetContract(shop(), suite)

type Mutant = [Fault, string]

const mutants: readonly Mutant[] = [
  ['accepts wrong arguments', "refuses shop_search { query: '' }"],
  ['cannot be repeated although it says so', 'may call its repeatable tools again'],
  ['has a misspelled member', 'is declared without fault'],
  ['has no schema of its arguments', "refuses shop_search { query: '' }"],
  ['has the token in an error', 'keeps secrets to itself when its service answers 500'],
  ['has the token in a result', 'keeps secrets to itself'],
  ['has the token in the error of a lost connection', 'keeps secrets to itself when its service cannot be reached'],
  ['has the token in the log', 'keeps secrets to itself'],
  ['ignores the abort', 'ends calls whose signal has aborted, and sends nothing'],
  ['ignores the abort of a pause', 'ends calls whose signal has aborted, and sends nothing'],
  ['leaves a process', 'leaves no socket and no timer'],
  ['opens a tool that it does not expect', 'opens only tools that it declares as expected'],
  ['leaves a socket', 'leaves no socket and no timer'],
  ['leaves a timer', 'leaves no socket and no timer'],
  ['refuses with any error', "refuses shop_search { query: '' }"],
  ['returns what JSON cannot hold', "returns a result for shop_search { query: 'tea' }"],
]

/** What the import of a module does, how the check describes it, and the code. */
const modules: readonly (readonly [string, RegExp, string])[] = [
  ['adds a global', /adds the global shop/, 'globalThis.shop = {}'],
  ['changes the environment', /variable SHOP_URL/, "process.env.SHOP_URL = 'x'"],
  ['connects', /connects to a server/, `import { connect } from 'node:net'\nconnect(${port}, '127.0.0.1').unref()`],
  ['sends a request', /sends a request/, `await fetch('${config.url}')`],
  ['starts a timer', /leaves a timer running/, 'setInterval(() => undefined, 60_000)'],
  ['listens to the process', /listens to "SIGUSR2"/, "process.on('SIGUSR2', () => undefined)"],
  ['prints', /prints/, "console.log('Hello.')"],
  ['ends the process', /it called process\.exit\(\)/, 'process.exit()'],
  ['ends the process later', /it called process\.exit\(0\)/, 'setTimeout(() => process.exit(0), 600)'],
  ['fails later', /\(Error: late/, "setTimeout(() => { throw new Error('late') }, 600)"],
]

const importsAlone = 'does nothing when it is imported'

describe('the toolset contract', () => {
  it.each<Mutant>(mutants)('finds a toolset that %s', async (fault, name) => {
    await expectFailure(toolsetChecks(shop(fault), suite), name)
  })

  it('finds a suite without arguments that are refused', async () => {
    await expectFailure(toolsetChecks(shop(), { ...suite, refused: [] }), 'has arguments that each tool refuses')
  })

  it.each(modules)('finds a module that %s when it is imported', async (_what, sentence, code) => {
    const checks = toolsetChecks(shop(), { ...suite, module: moduleOf(code) })
    await expectFailure(checks, importsAlone, sentence)
  })

  it('has the mutants of the table', () => {
    const imports = modules.map(([what]) => [`${what} when it is imported`, importsAlone] as const)
    const checks = toolsetChecks(shop(), { ...suite, module: new URL(import.meta.url) })
    expectTable('Toolsets', [...mutants, ...imports], checks)
  })

  it('accepts a module that only declares', async () => {
    const checks = toolsetChecks(shop(), { ...suite, module: moduleOf('export default { kind: 1 }') })
    await runCheck(checks.find(({ name }) => name === importsAlone)!)
    expect(checks.length).toBeGreaterThan(5)
  })
})

function moduleOf(code: string): URL {
  const file = join(temporaryFolder(), 'index.mjs')
  writeFileSync(file, code)
  return pathToFileURL(file)
}
