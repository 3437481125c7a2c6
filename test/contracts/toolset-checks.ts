// The checks of the toolset contract, as functions: the suite runs them, and a test runs them on faulty toolsets.
import { setImmediate as immediate, setTimeout as delay } from 'node:timers/promises'
import { inspect } from 'node:util'
import { expect } from 'vitest'
import { InputError, isInputError } from '../../core/plugin/errors.ts'
import { findFaults, findToolFaults } from '../../core/loader/verify.ts'
import type { Tool, Toolset, ToolApi } from '../../core/plugin/plugin.ts'
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
  /** How long a call may take to end after it was aborted. */
  waitMs?: number
}

interface Bench {
  withTools(use: (tools: readonly Tool[]) => Promise<void> | void): Promise<void>
  execute(tool: Tool, args: unknown, context?: TestContext): Promise<unknown>
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
      run: () => stops(bench, { calls, waitMs: settings.waitMs ?? 2_000 }),
    },
    {
      name: 'leaves no socket and no timer',
      advice: 'End every socket, process and timer when `execute` ends, or in `close` of the open toolset.',
      run: () => leavesNothing(bench, { calls, waitMs: settings.waitMs ?? 2_000 }),
    },
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

function openBench<Config>(toolset: Toolset<Config>, { config, toolApi }: ToolsetCase<Config>): Bench {
  return {
    async withTools(use) {
      let offered: readonly Tool[] = []
      const opened = await toolset.open?.(config as Config, {
        ...createTestContext(),
        offer: (tools) => void (offered = tools),
      })
      try {
        await use([...(toolset.tools ?? []), ...(opened?.tools ?? []), ...offered])
      } finally {
        await opened?.close()
      }
    },
    async execute(tool, args, context = createTestContext()) {
      const who = { agentId: 'main', sessionKey: 'agent:main:main', caller: 'http' } as const
      return await tool.execute(structuredClone(args) as never, { ...context, ...createTestToolApi(toolApi), ...who })
    },
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
    ...(expected
      ? [
          {
            name: 'opens only tools that it declares as expected',
            advice: 'Let `expected` name every tool that `open` returns or offers.',
            async run() {
              const names = expected(config as Config).map(({ name }) => name)
              await withTools((tools) => {
                const brought = tools.filter((tool) => !toolset.tools?.includes(tool))
                const strange = brought.filter((tool) => !names.some((name) => matches(name, tool)))
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
      if (!(tool.repeatable ?? tool.changes === 'nothing')) continue
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

interface Timed {
  calls: readonly ToolCall[]
  waitMs: number
}

/** A call that has nothing to wait for may return its result. */
const stops = ({ withTools, execute }: Bench, { calls, waitMs }: Timed): Promise<void> =>
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

async function leavesNothing({ withTools, execute }: Bench, { calls, waitMs }: Timed): Promise<void> {
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
