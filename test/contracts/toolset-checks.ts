// The checks of the toolset contract, as functions: the suite runs them, and a test runs them on faulty toolsets.
import { once } from 'node:events'
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { InputError, isInputError } from '../../core/plugin/errors.ts'
import { findFaults, findToolFaults } from '../../core/loader/verify.ts'
import type { Tool, ToolContext, Toolset, ToolApi } from '../../core/plugin/plugin.ts'
import { matches } from '../../core/tools/names.ts'
import { compileCheck } from '../../core/typebox.ts'
import { secretsOf, within } from './channel-gateway.ts'
import type { Check } from './check.ts'
import { createTestContext, type TestContext } from './context.ts'
import { importAlone } from './import-alone.ts'
import { duringOutage, type Outage, watchOutside } from './outside.ts'
import { panelChecks } from './panel-checks.ts'
import { trackResources } from './resources.ts'
import { createTestToolApi } from './tool-api.ts'

/** A call that must succeed. */
export interface ToolCall {
  tool: string
  args: Record<string, unknown>
  /** The expected result. Absent: any JSON value. */
  answer?: unknown
}

export interface ToolsetCase<Config> {
  /** Settings of the toolset, if it has any. */
  config?: Config
  /** At least one call of each tool. */
  calls: readonly ToolCall[]
  /**
   * Arguments that a tool must refuse: by its schema, or with an `InputError`. At least one for each tool whose calls
   * have arguments.
   */
  refused?: readonly Pick<ToolCall, 'tool' | 'args'>[]
  /** Members of the tool API for the calls. The others find nothing and refuse everything. */
  toolApi?: Partial<ToolApi>
  /** The module of the toolset, such as `new URL('../src/index.ts', import.meta.url)`: it is imported alone, too. */
  module?: URL
  /** Required if the toolset offers tools that come later: ends the connections of the service, which can come again. */
  disconnect?(): unknown
  /** How long a call may take to end after it was aborted, and how long tools may take to come. */
  waitMs?: number
}

interface Bench {
  /** Waits for the tools of the case, which may come later. */
  withTools(use: (tools: readonly Tool[], live: LiveTools) => Promise<void> | void): Promise<void>
  contextOf(context?: TestContext): ToolContext
  execute(tool: Tool, args: unknown, context?: TestContext): Promise<unknown>
}

interface LiveTools {
  /** The tools at the moment. */
  list(): readonly Tool[]
  /** The names of those that came after `open`. */
  offered(): string[]
}

export function toolsetChecks<Config>(toolset: Toolset<Config>, settings: ToolsetCase<Config>): Check[] {
  const { calls, refused = [], module } = settings
  const bench = openBench(toolset, settings)
  const title = ({ tool, args }: Pick<ToolCall, 'tool' | 'args'>) =>
    `${tool} ${inspect(args, { breakLength: Infinity })}`
  return [
    ...declarationChecks(toolset, settings, bench),
    ...calls.map((call) => ({
      name: `returns a result for ${title(call)}`,
      advice: 'Return a JSON value, for arguments that fit the schema.',
      run: () => returnsResult(bench, call),
    })),
    {
      name: 'may call its repeatable tools again',
      advice:
        'Leave out `repeatable` (or set it to false beside `changes`) where a second call fails or changes something.',
      run: () => repeats(bench, calls),
    },
    ...refused.map((call) => ({
      name: `refuses ${title(call)}`,
      advice: 'Describe the arguments in the schema `args`, and throw an InputError for what a schema cannot say.',
      run: () => refuses(bench, call),
    })),
    {
      name: 'ends calls whose signal has aborted, and sends nothing',
      advice: 'Pass `context.signal` to whatever `execute` waits for, such as `fetch`.',
      run: () => stops(bench, settings),
    },
    {
      name: 'leaves no socket and no timer',
      advice: 'End every socket, process and timer when `execute` ends, or in `close` of the open toolset.',
      run: () => leavesNothing(bench, settings),
    },
    ...behaviorChecks(settings, bench),
    ...secretChecks(toolset, settings, bench),
    ...panelChecks(toolset),
    ...(module
      ? [
          {
            name: 'does nothing when it is imported',
            advice: 'Open connections, timers and files in `open` or `execute`, not at the top level of a module.',
            run: async () => expect(await importAlone(module)).toEqual([]),
          },
        ]
      : []),
  ]
}

function openBench<Config>(toolset: Toolset<Config>, settings: ToolsetCase<Config>): Bench {
  const { config, calls, toolApi, waitMs = 2_000 } = settings
  const names = [...new Set(calls.map(({ tool }) => tool))]
  return {
    async withTools(use) {
      let offered: readonly Tool[] = []
      const changes = new EventTarget()
      const context = createTestContext()
      const opened = await toolset.open?.(config as Config, {
        ...context,
        offer(tools) {
          offered = tools
          changes.dispatchEvent(new Event('offer'))
        },
      })
      const list = () => [...(toolset.tools ?? []), ...(opened?.tools ?? []), ...offered]
      const lacks = () => names.filter((name) => !list().some((tool) => tool.name === name))
      try {
        for (const end = Date.now() + waitMs; lacks().length > 0 && Date.now() < end;)
          await once(changes, 'offer', { signal: AbortSignal.timeout(Math.max(1, end - Date.now())) }).catch(
            () => undefined,
          )
        await use(list(), { list, offered: () => offered.map(({ name }) => name) })
      } finally {
        context.abort()
        if (opened) await within(opened.close(), waitMs, 'the end of `close`; it must end what it waits for')
      }
    },
    contextOf,
    execute: async (tool, args, context) => await tool.execute(structuredClone(args) as never, contextOf(context)),
  }

  function contextOf(context = createTestContext()): ToolContext {
    return { ...context, ...createTestToolApi(toolApi), agentId: 'main', sessionKey: 'agent:main:main', caller: 'http' }
  }
}

function declarationChecks<Config>(
  toolset: Toolset<Config>,
  { config, calls, refused = [] }: ToolsetCase<Config>,
  { withTools }: Bench,
): Check[] {
  const { expected } = toolset
  const untested = (tools: readonly Tool[], tested: readonly Pick<ToolCall, 'tool'>[]) =>
    tools.map(({ name }) => name).filter((name) => !tested.some(({ tool }) => tool === name))
  const takesArguments = ({ name }: Tool) =>
    calls.some(({ tool, args }) => tool === name && Object.keys(args).length > 0)
  return [
    {
      name: 'is declared without fault',
      advice: 'Correct the declaration.',
      async run() {
        expect(findFaults(toolset)).toEqual([])
        await withTools((tools) => expect(tools.flatMap((tool) => findToolFaults(tool, { compile: true }))).toEqual([]))
      },
    },
    ...(expected || toolset.open
      ? [
          {
            name: 'opens only tools that it declares as expected',
            advice:
              'Let `expected` name every tool that `open` returns or offers: one that it does not name and that comes ' +
              'later is available only where the policy names it.',
            async run() {
              const names = expected?.(config as Config).map(({ name }) => name)
              await withTools((tools, { offered }) => {
                const later = offered()
                const brought = tools.filter((tool) => !toolset.tools?.includes(tool))
                const counted = names ? brought : brought.filter(({ name }) => later.includes(name))
                const strange = counted.filter((tool) => !names?.some((name) => matches(name, tool)))
                expect(strange.map(({ name }) => name)).toEqual([])
              })
            },
          },
        ]
      : []),
    {
      name: 'has a call for each tool',
      advice: 'Add a call of each tool to `calls`.',
      run: () => withTools((tools) => expect(untested(tools, calls)).toEqual([])),
    },
    {
      name: 'has arguments that each tool refuses',
      advice: 'Add arguments that the tool must refuse to `refused`, such as a number that is too large.',
      run: () => withTools((tools) => expect(untested(tools.filter(takesArguments), refused)).toEqual([])),
    },
  ]
}

const returnsResult = ({ withTools, execute }: Bench, { tool: name, args, answer }: ToolCall): Promise<void> =>
  withTools(async (tools) => {
    const tool = toolOf(tools, name)
    expect(compileCheck(tool.args).problems(args)).toEqual([])
    const result = await execute(tool, args)
    expect(result === undefined ? undefined : JSON.parse(JSON.stringify(result))).toEqual(result)
    if (answer !== undefined) expect(result).toEqual(answer)
  })

const repeats = ({ withTools, execute }: Bench, calls: readonly ToolCall[]): Promise<void> =>
  withTools(async (tools) => {
    const failed: string[] = []
    for (const { tool: name, args } of calls) {
      const tool = toolOf(tools, name)
      if (!isRepeatable(tool)) continue
      await execute(tool, args)
      await execute(tool, args).catch(() => failed.push(name))
    }
    expect(failed).toEqual([])
  })

const refuses = ({ withTools, execute }: Bench, { tool: name, args }: Omit<ToolCall, 'answer'>): Promise<void> =>
  withTools(async (tools) => {
    const tool = toolOf(tools, name)
    const refusal = compileCheck(tool.args).fits(args)
      ? await execute(tool, args).then(
          () => undefined,
          (error: unknown) => error,
        )
      : new InputError('The schema refuses it.')
    expect(isInputError(refusal), `${name} must refuse this, but gave ${String(refusal)}`).toBe(true)
  })

function behaviorChecks<Config>(settings: ToolsetCase<Config>, bench: Bench): Check[] {
  const { calls } = settings
  return [
    {
      name: 'declares the effects that its calls have',
      advice:
        "Declare `effects: ['sends']` where an argument reaches a service, 'reads-private' where a result is private, " +
        'and `[]` only for a tool that calls nobody: an agent that holds external content may use such a tool freely.',
      run: () => declaresEffects(bench, calls),
    },
    {
      name: 'gives calls at the same time their own results',
      advice: 'Keep what belongs to one call in `execute`, not in variables that all calls share.',
      run: () => keepsCallsApart(bench, calls),
    },
    {
      name: 'keeps texts out of the log',
      advice: 'Log ids and counts: neither the texts of arguments nor those of results.',
      run: () => keepsTexts(bench, calls),
    },
    {
      name: 'offers its tools again after a lost connection',
      advice:
        'Call `offer` each time the connection is there again, with all tools, and give the case a `disconnect` if tools ' +
        'come later.',
      run: () => offersAgain(bench, settings),
    },
  ]
}

const declaresEffects = ({ withTools, execute, contextOf }: Bench, calls: readonly ToolCall[]): Promise<void> =>
  withTools(async (tools) => {
    const undeclared: string[] = []
    for (const { tool: name, args } of calls) {
      const tool = toolOf(tools, name)
      const { effects = allEffects } = tool
      const declared = typeof effects === 'function' ? await effects(args as never, contextOf()) : effects
      expect(
        declared.filter((effect) => !allEffects.includes(effect)),
        `what \`effects\` of ${name} returns`,
      ).toEqual([])
      const outside = watchOutside()
      await execute(tool, args).finally(outside.stop)
      if (declared.length === 0 && outside.seen.length > 0) undeclared.push(`${name} calls a service`)
      const sent = outside.paths.some((path) => textsOf(args).some((text) => holds(path, text)))
      if (!declared.includes('sends') && sent) undeclared.push(`${name} sends its arguments`)
    }
    expect(undeclared).toEqual([])
  })

const allEffects: readonly string[] = ['reads-private', 'sends']

/** Whether the path of a request has a text, however it is encoded. */
const holds = (path: string, text: string): boolean =>
  text.length > 2 &&
  [text, encodeURIComponent(text), encodeURIComponent(text).replaceAll('%20', '+')].some((one) => path.includes(one))

function textsOf(value: unknown): string[] {
  if (typeof value === 'string') return [value]
  return typeof value === 'object' && value !== null ? Object.values(value).flatMap(textsOf) : []
}

const keepsCallsApart = ({ withTools, execute }: Bench, calls: readonly ToolCall[]): Promise<void> =>
  withTools(async (tools) => {
    const answered = calls.filter(({ tool, answer }) => answer !== undefined && isRepeatable(toolOf(tools, tool)))
    const results = await Promise.all(answered.map(({ tool, args }) => execute(toolOf(tools, tool), args)))
    expect(results).toEqual(answered.map(({ answer }) => answer))
  })

const isRepeatable = ({ repeatable, changes }: Tool): boolean => repeatable ?? changes === 'nothing'

const keepsTexts = ({ withTools, execute }: Bench, calls: readonly ToolCall[]): Promise<void> =>
  withTools(async (tools) => {
    for (const { tool: name, args } of calls) {
      const tool = toolOf(tools, name)
      const context = createTestContext()
      const result = await execute(tool, args, context)
      const said = inspect(context.logged, { depth: 10, maxStringLength: null, maxArrayLength: null })
      const texts = [...freeTexts(tool, args), ...textsOf(result).filter((text) => /\S\s+\S/.test(text))]
      expect(
        texts.filter((text) => text.length > 2 && said.includes(text)),
        `texts in the log of ${name}`,
      ).toEqual([])
    }
  })

/** Texts that people write: not ids, which have a pattern, and not words of a list. */
function freeTexts({ args: schema }: Tool, args: Record<string, unknown>): string[] {
  const { properties = {} } = schema as { properties?: Record<string, Record<string, unknown>> }
  return Object.entries(args).flatMap(([key, value]) => {
    const { type, pattern, enum: words } = properties[key] ?? {}
    return type === 'string' && !pattern && !words ? textsOf(value) : []
  })
}

/** A connection that is lost is noticed a moment later. */
const noticeMs = 50

const offersAgain = (
  { withTools, execute }: Bench,
  { calls, disconnect, waitMs = 2_000 }: Timed & Pick<ToolsetCase<never>, 'disconnect'>,
): Promise<void> =>
  withTools(async (_tools, { list, offered }) => {
    const names = offered()
    const isTestable = names.length === 0 || disconnect !== undefined
    expect(isTestable, 'The toolset offers tools; give a `disconnect` that ends the connections.').toBe(true)
    if (names.length === 0 || !disconnect) return
    await disconnect()
    await delay(noticeMs)
    const isBack = () => names.every((name) => offered().includes(name))
    for (const end = Date.now() + waitMs; !isBack() && Date.now() < end;) await delay(5)
    expect(offered(), 'the tools that are offered after the connection was lost').toEqual(expect.arrayContaining(names))
    for (const { tool, args } of calls) if (names.includes(tool)) await execute(toolOf(list(), tool), args)
  })

interface Timed {
  calls: readonly ToolCall[]
  waitMs?: number | undefined
}

/** A call that has nothing to wait for may return its result. */
const stops = ({ withTools, execute }: Bench, { calls, waitMs = 2_000 }: Timed): Promise<void> =>
  withTools(async (tools) => {
    for (const { tool, args } of calls) {
      const context = createTestContext()
      context.abort()
      const outside = watchOutside()
      const ended = execute(toolOf(tools, tool), args, context).then(
        () => undefined,
        () => undefined,
      )
      await within(ended, waitMs, `the end of ${tool}, whose signal has aborted`).finally(outside.stop)
      expect(outside.seen, `what ${tool} sent although its signal has aborted`).toEqual([])
    }
  })

async function leavesNothing({ withTools, execute }: Bench, { calls, waitMs = 2_000 }: Timed): Promise<void> {
  const resources = trackResources({ ofServers: false })
  try {
    await withTools(async (tools) => {
      for (const { tool, args } of calls) await execute(toolOf(tools, tool), args)
    })
    for (const end = Date.now() + waitMs; resources.open().length > 0 && Date.now() < end;) await settle()
    expect(resources.open(), 'what still keeps the process alive').toEqual([])
  } finally {
    resources.stop()
  }
}

/** The timer of this pause itself counts until the second turn of the event loop after it. */
async function settle(): Promise<void> {
  await delay(10)
  await immediate()
  await immediate()
}

function secretChecks<Config>(
  toolset: Toolset<Config>,
  { config, calls, refused = [] }: ToolsetCase<Config>,
  { withTools, execute }: Bench,
): Check[] {
  const secrets = secretsOf(toolset.config ?? {}, config)
  if (secrets.length === 0) return []
  const attempt = async (tools: readonly Tool[], { tool, args }: Omit<ToolCall, 'answer'>) => {
    const context = createTestContext()
    const outcome = await execute(toolOf(tools, tool), args, context).catch((error: unknown) => error)
    const said = inspect([outcome, context.logged], { depth: 10, maxStringLength: null, maxArrayLength: null })
    for (const secret of secrets)
      expect(said.includes(secret), `the secret in what ${tool} returns, throws or logs`).toBe(false)
  }
  const check = (name: string, around: (run: () => Promise<void>) => Promise<void>): Check => ({
    name,
    advice: 'Say in results, errors and logs what happened, without the settings and without the request.',
    run: () =>
      withTools((tools) =>
        around(async () => {
          for (const call of [...calls, ...refused]) await attempt(tools, call)
        }),
      ),
  })
  const outages: Outage[] = ['answers 500', 'cannot be reached']
  return [
    {
      name: 'keeps secrets out of the names, descriptions and schemas of its tools',
      advice: 'Describe a tool without the settings: models, clients and the control page read its description.',
      run: () =>
        withTools((tools) => {
          const told = JSON.stringify(
            tools.map(({ name, group, description, args }) => [name, group, description, args]),
          )
          expect(secrets.filter((secret) => told.includes(secret)).length, 'secrets in what describes the tools').toBe(
            0,
          )
        }),
    },
    check('keeps secrets to itself', (run) => run()),
    ...outages.map((outage) =>
      check(`keeps secrets to itself when its service ${outage}`, (run) => duringOutage(outage, run)),
    ),
  ]
}

function toolOf(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((candidate) => candidate.name === name)
  if (!tool) throw new Error(`There is no tool "${name}" in this toolset.`)
  return tool
}
