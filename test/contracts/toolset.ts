// What every toolset must do: valid declarations, arguments that fit their schemas, and results that JSON can hold.
import { describe, expect, it } from 'vitest'
import { isInputError } from '../../core/plugin/errors.ts'
import { findFault, toolFault } from '../../core/loader/verify.ts'
import type { Tool, Toolset, ToolApi } from '../../core/plugin/plugin.ts'
import { matches } from '../../core/tools/names.ts'
import { compileCheck } from '../../core/typebox.ts'
import { createTestContext } from './context.ts'
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
  /** Arguments that a tool must refuse: by its schema, or with an `InputError`. */
  refused?: readonly Pick<ToolCall, 'tool' | 'args'>[]
  /** Members of the tool API for the calls. The others find nothing and refuse everything. */
  toolApi?: Partial<ToolApi>
}

export function toolsetContract<Config>(
  toolset: Toolset<Config>,
  { config, calls, refused = [], toolApi }: ToolsetCase<Config>,
): void {
  const withTools = async (use: (tools: readonly Tool[]) => Promise<void> | void) => {
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
  }

  const execute = async (tool: Tool, args: unknown): Promise<unknown> => {
    const who = { agentId: 'main', sessionKey: 'agent:main:main', caller: 'http' } as const
    return await tool.execute(args as never, { ...createTestContext(), ...createTestToolApi(toolApi), ...who })
  }

  describe(`toolset ${toolset.name}`, () => {
    it('is declared without fault', async () => {
      expect(findFault(toolset, { compile: true })).toBeUndefined()
      await withTools((tools) => expect(tools.map((tool) => toolFault(tool, true)).filter(Boolean)).toEqual([]))
    })

    const { expected } = toolset
    if (expected)
      it('opens only tools that it declares as expected', async () => {
        const names = expected(config as Config).map(({ name }) => name)
        await withTools((tools) => {
          const brought = tools.filter((tool) => !toolset.tools?.includes(tool))
          const strange = brought.filter((tool) => !names.some((name) => matches(name, tool)))
          expect(strange.map(({ name }) => name)).toEqual([])
        })
      })

    it('has a call for each tool', async () => {
      await withTools((tools) =>
        expect(tools.map(({ name }) => name).filter((name) => !calls.some(({ tool }) => tool === name))).toEqual([]),
      )
    })

    it.each(calls)('returns a result for $tool $args', async ({ tool: name, args, answer }) => {
      await withTools(async (tools) => {
        const tool = toolOf(tools, name)
        expect(compileCheck(tool.args).problems(args)).toEqual([])
        const result = await execute(tool, args)
        expect(result === undefined ? undefined : JSON.parse(JSON.stringify(result))).toEqual(result)
        if (answer !== undefined) expect(result).toEqual(answer)
      })
    })

    it('may call its repeatable tools again', async () => {
      await withTools(async (tools) => {
        const failed: string[] = []
        for (const { tool: name, args } of calls) {
          const tool = toolOf(tools, name)
          if (tool.repeatable !== true) continue
          await execute(tool, args)
          await execute(tool, args).catch(() => failed.push(name))
        }
        expect(failed).toEqual([])
      })
    })

    it.each(refused)('refuses $tool $args', async ({ tool: name, args }) => {
      await withTools(async (tools) => {
        const tool = toolOf(tools, name)
        const isRefused =
          !compileCheck(tool.args).fits(args) || (await execute(tool, args).then(() => false, isInputError))
        expect(isRefused, `${name} must refuse these arguments with its schema or an InputError`).toBe(true)
      })
    })
  })
}

function toolOf(tools: readonly Tool[], name: string): Tool {
  const tool = tools.find((candidate) => candidate.name === name)
  if (!tool) throw new Error(`There is no tool "${name}" in this toolset.`)
  return tool
}
