// The toolset contract accepts a correct toolset and finds each of many faults.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { type AddressInfo, connect, createServer as createExchange, type Socket } from 'node:net'
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

const service = createServer(
  ({ url = '' }, response) => void response.end(JSON.stringify({ title: `About ${url.slice(4)}` })),
)
await once(service.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void service.close())
const { port } = service.address() as AddressInfo
const config = { url: `http://127.0.0.1:${port}`, token: 'the-token-of-the-service' }

type Fault =
  | 'accepts wrong arguments'
  | 'declares an effect that does not exist'
  | 'declares no effect of a call to a service'
  | 'does not say that it sends its arguments'
  | 'has the token in a description'
  | 'has the token in a schema'
  | 'has a text of an argument in the log'
  | 'has a text of a result in the log'
  | 'mixes up calls at the same time'
  | 'never ends its close'
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
    open: async (config) => ({
      tools: [search(config, fault)],
      close: () => (fault === 'never ends its close' ? new Promise(() => undefined) : Promise.resolve()),
    }),
  })

const schemas: Partial<Record<Fault, Tool['args']>> = {
  'accepts wrong arguments': Type.Object({ query: Type.String() }),
  'refuses with any error': Type.Object({ query: Type.String() }),
  'has no schema of its arguments': Type.Object({}),
}

const effects: Partial<Record<Fault, Tool<{ query: string }>['effects']>> = {
  'declares an effect that does not exist': () => ['send'] as never,
  'declares no effect of a call to a service': [],
  'does not say that it sends its arguments': ['reads-private'],
}

const withDescription = (token: string) =>
  Type.Object({ query: Type.String({ minLength: 1, description: `Words. The token is ${token}.` }) })

const search = ({ url, token }: Config, fault: Fault | undefined) => {
  let count = 0
  let last = ''
  return defineTool<{ query: string }>({
    ...(fault === 'cannot be repeated although it says so' && { repeatable: true }),
    ...(fault === 'has a misspelled member' && { optin: true }),
    name: 'shop_search',
    description: fault === 'has the token in a description' ? `Searches the shop with ${token}.` : 'Searches the shop.',
    args: fault === 'has the token in a schema' ? withDescription(token) : ((fault && schemas[fault]) ?? Args),
    effects: (fault && effects[fault]) ?? ['sends'],
    changes: 'nothing',
    async execute({ query }, { signal, log }) {
      if (fault === 'refuses with any error' && query === '') throw new Error('The query is empty.')
      if (query === '*') throw new InputError('Name words.')
      if (fault === 'cannot be repeated although it says so' && count++ > 0) throw new Error('It was done.')
      if (fault === 'leaves a process') spawn(process.execPath, ['--eval', 'setTimeout(() => {}, 5_000)'])
      if (fault === 'leaves a timer') setTimeout(() => undefined, 60_000)
      if (fault === 'leaves a socket') connect(port, '127.0.0.1')
      if (fault === 'has the token in the log') log.info({ headers: { authorization: token } }, 'searching')
      if (fault === 'ignores the abort of a pause') await delay(2_000)
      if (fault === 'has a text of an argument in the log') log.debug({ query }, 'searching')
      last = query
      if (fault === 'mixes up calls at the same time') await delay(1)
      const asked = fault === 'mixes up calls at the same time' ? last : query
      const response = await fetch(`${url}/?q=${asked}`, {
        headers: { authorization: token },
        ...(fault !== 'ignores the abort' && { signal }),
      }).catch((error: unknown) => {
        const detail = fault === 'has the token in the error of a lost connection' ? ` (${token})` : ''
        throw new Error(`The shop cannot be reached${detail}.`, { cause: error })
      })
      if (!response.ok)
        throw new Error(`The shop answered ${response.status}${fault === 'has the token in an error' ? token : ''}.`)
      const found = (await response.json()) as { title: string }
      if (fault === 'has a text of a result in the log') log.debug(found, 'found')
      if (fault === 'returns what JSON cannot hold') return new Map([['found', found]])
      return fault === 'has the token in a result' ? { ...found, request: `${url}?token=${token}` } : found
    },
  })
}

const suite = {
  config,
  calls: [
    { tool: 'shop_search', args: { query: 'tea' }, answer: { title: 'About tea' } },
    { tool: 'shop_search', args: { query: 'milk' }, answer: { title: 'About milk' } },
  ],
  refused: [
    { tool: 'shop_search', args: { query: '' } },
    { tool: 'shop_search', args: { query: '*' } },
  ],
  waitMs: 300,
}

toolsetContract(shop(), suite)

type LateFault = 'does not expect its late tools' | 'does not offer its tools again'

const exchanges = new Set<Socket>()
const exchange = createExchange((socket) => void exchanges.add(socket))
await once(exchange.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void exchange.close())
const late = {
  calls: [{ tool: 'market_price', args: {}, answer: 5 }],
  disconnect: () => exchanges.forEach((socket) => socket.destroy()),
  waitMs: 300,
}

/** Its tools are there while it is connected. */
const market = (fault?: LateFault) =>
  defineToolset({
    name: 'market',
    description: 'Prices of a market.',
    ...(fault !== 'does not expect its late tools' && { expected: () => [{ name: 'market_*' }] }),
    async open(_config, { offer, signal }) {
      let count = 0
      const join = (): void => {
        const socket = connect((exchange.address() as AddressInfo).port, '127.0.0.1')
        const leave = () => void socket.destroy()
        signal.addEventListener('abort', leave)
        socket.on('error', () => undefined)
        socket.on('connect', () => {
          if (count++ === 0 || fault !== 'does not offer its tools again') offer([price])
        })
        socket.on('close', () => {
          signal.removeEventListener('abort', leave)
          offer([])
          if (!signal.aborted) join()
        })
      }
      join()
      return { tools: [], close: async () => undefined }
    },
  })

const price = defineTool({
  name: 'market_price',
  description: 'Reads the price.',
  args: Type.Object({}),
  effects: [],
  execute: () => 5,
})

toolsetContract(market(), late)

type Mutant = [Fault, string]

const effectCheck = 'declares the effects that its calls have'

const mutants: readonly Mutant[] = [
  ['declares an effect that does not exist', effectCheck],
  ['declares no effect of a call to a service', effectCheck],
  ['does not say that it sends its arguments', effectCheck],
  ['has a text of an argument in the log', 'keeps texts out of the log'],
  ['has a text of a result in the log', 'keeps texts out of the log'],
  ['has the token in a description', 'keeps secrets out of the names, descriptions and schemas of its tools'],
  ['has the token in a schema', 'keeps secrets out of the names, descriptions and schemas of its tools'],
  ['mixes up calls at the same time', 'gives calls at the same time their own results'],
  ['never ends its close', 'leaves no socket and no timer'],
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

const lateMutants: readonly (readonly [LateFault, string])[] = [
  ['does not expect its late tools', 'opens only tools that it declares as expected'],
  ['does not offer its tools again', 'offers its tools again after a lost connection'],
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

  it.each(lateMutants)('finds a toolset that %s', async (fault, name) => {
    await expectFailure(toolsetChecks(market(fault), late), name)
  })

  it('finds a suite of late tools without `disconnect`', async () => {
    const { disconnect: _, ...without } = late
    const checks = toolsetChecks(market(), without)
    await expectFailure(checks, 'offers its tools again after a lost connection', /give a `disconnect`/)
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
    expectTable('Toolsets', [...mutants, ...lateMutants, ...imports], checks)
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
