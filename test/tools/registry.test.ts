// The tool registry: opens toolsets, leaves out invalid and duplicate tools, and closes toolsets.
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  AuthError,
  defineTool,
  defineToolset,
  type ExtensionContext,
  type Tool,
  type Toolset,
  type ToolsetContext,
  Type,
} from '../../core/plugin/plugin.ts'
import { openToolRegistry } from '../../core/tools/registry.ts'
import { createTestContext } from '../contracts/context.ts'

const tool = (name: string, changes: Partial<Tool> = {}): Tool => ({
  ...defineTool({ name, description: `Does ${name}.`, args: Type.Object({}), execute: () => name }),
  ...changes,
})

const toolset = (name: string, rest: Partial<Toolset>): Toolset<never> =>
  defineToolset({ name, description: `The set ${name}.`, ...rest })

const open = (toolsets: Toolset<never>[], context: (name: string) => ExtensionContext = () => createTestContext()) =>
  openToolRegistry({ toolsets, settings: (name) => ({ of: name }), context })

describe('the tool registry', () => {
  it('lists the tools of all toolsets sorted by name, and finds them by exact name', async () => {
    const registry = await open([
      toolset('late', { tools: [tool('walk'), tool('dig')] }),
      toolset('early', { tools: [tool('jump')] }),
    ])
    expect(registry.list().map((entry) => [entry.tool.name, entry.toolset])).toEqual([
      ['dig', 'late'],
      ['jump', 'early'],
      ['walk', 'late'],
    ])
    expect(registry.find('jump')?.toolset).toBe('early')
    expect([registry.find('Jump'), registry.find('toString'), registry.problems]).toEqual([undefined, undefined, []])
  })

  it('opens a toolset with its settings and its own context, and closes it', async () => {
    const seen: unknown[] = []
    const contexts = new Map<string, ExtensionContext>()
    const live = toolset('live', {
      tools: [tool('fixed')],
      open: async (config, context) => {
        seen.push(config, context.state === contexts.get('live')?.state)
        return { tools: [tool('remote')], close: async () => void seen.push('closed') }
      },
    })
    const registry = await open([live], (name) => {
      const context = createTestContext()
      contexts.set(name, context)
      return context
    })
    expect(registry.list().map((entry) => entry.tool.name)).toEqual(['fixed', 'remote'])
    await registry.close()
    expect(seen).toEqual([{ of: 'live' }, true, 'closed'])
  })

  it('leaves out a second tool of the same name, and names both toolsets', async () => {
    const registry = await open([
      toolset('one', { tools: [tool('same')] }),
      toolset('two', { tools: [tool('same'), tool('other')] }),
    ])
    expect(registry.find('same')?.toolset).toBe('one')
    expect(registry.find('other')?.toolset).toBe('two')
    expect(registry.problems).toEqual([
      'The tool "same" of the toolset "two" is left out: ' +
        'the toolset "one" has a tool of that name; ' +
        "rename it with `tools.rename: { 'two': { same: '…' } }`.",
    ])
  })

  it('leaves out a toolset that cannot be opened, and keeps the others', async () => {
    const broken = toolset('broken', { tools: [tool('lost')], open: () => Promise.reject(new Error('no connection')) })
    const registry = await open([broken, toolset('sound', { tools: [tool('found')] })])
    expect(registry.list().map((entry) => entry.tool.name)).toEqual(['found'])
    expect(registry.problems).toEqual([
      'The toolset "broken" is left out: it could not be opened (no connection); it is tried again.',
    ])
    await registry.close()
  })

  it('tries again to open a toolset, and adds its tools', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const failures = [new Error('no connection'), new TypeError('not yet')]
    const late = toolset('late', {
      open: async () => {
        const failure = failures.shift()
        if (failure) throw failure
        return { tools: [tool('found')], close: async () => {} }
      },
    })
    const context = createTestContext()
    const registry = await open([late], () => context)
    expect(registry.states()).toEqual([{ toolset: 'late', state: 'failing', reason: 'no connection' }])
    await vi.advanceTimersByTimeAsync(1_000)
    expect(registry.states()).toEqual([{ toolset: 'late', state: 'failing', reason: 'TypeError: not yet' }])
    await vi.advanceTimersByTimeAsync(2_000)
    expect(registry.states()).toEqual([{ toolset: 'late', state: 'open' }])
    expect(registry.find('found')?.toolset).toBe('late')
    expect(context.logged.map(({ message }) => message)).toEqual([
      'toolset could not be opened; it is tried again',
      'toolset could not be opened; it is tried again',
      'toolset opened',
    ])
  })

  it('shows the health that an open toolset reports', async () => {
    let report: ToolsetContext['reportHealth'] = () => {}
    const live = toolset('live', {
      open: async (_config, { reportHealth }) => {
        report = reportHealth
        reportHealth('The service does not answer yet.')
        return { tools: [tool('found')], close: async () => {} }
      },
    })
    const { states, list, problems } = await open([live])
    const shown = { toolset: 'live', state: 'failing' }
    expect([states(), problems]).toEqual([[{ ...shown, reason: 'The service does not answer yet.' }], []])
    report()
    expect(states()).toEqual([{ toolset: 'live', state: 'open' }])
    report(new Error('It went away.', { cause: new Error('connect ECONNREFUSED') }))
    expect(states()).toEqual([{ ...shown, reason: expect.stringContaining('It went away.') }])
    report(new AuthError('The token is refused.'))
    expect(states()).toEqual([{ toolset: 'live', state: 'unauthorized', reason: 'The token is refused.' }])
    expect(list().map((entry) => entry.tool.name)).toEqual(['found'])
  })

  it('withdraws what was offered by an attempt that failed, and ignores what it offers later', async () => {
    let offer: (tools: readonly Tool[]) => void = () => {}
    const early = toolset('early', {
      open: async (_config, context) => {
        offer = (tools) => context.offer(tools)
        offer([tool('found')])
        throw new Error('no connection with the canary')
      },
    })
    const registry = await openToolRegistry({
      toolsets: [early],
      settings: () => ({}),
      context: () => createTestContext(),
      redact: (text) => text.replace('canary', '[redacted]'),
    })
    offer([tool('late')])
    expect(registry.list()).toEqual([])
    expect(registry.states()).toEqual([
      { toolset: 'early', state: 'failing', reason: 'no connection with the [redacted]' },
    ])
    await registry.close()
  })

  it('does not try again to open a toolset whose credentials are refused, or one that was closed', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    onTestFinished(() => void vi.useRealTimers())
    const opened: string[] = []
    const failing = (name: string, error: Error) =>
      toolset(name, {
        open: async () => {
          opened.push(name)
          throw error
        },
      })
    const refused = await open([failing('refused', new AuthError('The key was revoked.'))])
    expect(refused.states()).toEqual([{ toolset: 'refused', state: 'unauthorized', reason: 'The key was revoked.' }])
    expect(refused.problems).toEqual([
      'The toolset "refused" is left out: it could not be opened (The key was revoked.); change its settings.',
    ])
    const closed = await open([failing('closed', new Error('no connection'))])
    await closed.close()
    await vi.advanceTimersByTimeAsync(600_000)
    expect(opened).toEqual(['refused', 'closed'])
  })

  it('leaves out an invalid tool of an opened toolset', async () => {
    const faulty = [tool('Bad-Name'), tool('no_schema', { args: undefined as never }), tool('good')]
    const registry = await open([toolset('live', { open: async () => ({ tools: faulty, close: async () => {} }) })])
    expect(registry.list().map((entry) => entry.tool.name)).toEqual(['good'])
    expect(registry.problems).toHaveLength(2)
    expect(registry.problems[0]).toContain('A tool of the toolset "live" is left out: ')
  })

  it('follows tools that come and go while the gateway runs', async () => {
    let offer: (tools: readonly Tool[]) => void = () => {}
    const openLive = async (_config: unknown, context: ToolsetContext) => {
      offer = (tools) => context.offer(tools)
      offer([tool('early')])
      return { tools: [tool('fixed')], close: async () => {} }
    }
    const registry = await open([toolset('live', { open: openLive }), toolset('other', { tools: [tool('walk')] })])
    const names = () => registry.list().map((entry) => entry.tool.name)
    expect(names()).toEqual(['early', 'fixed', 'walk'])
    const before = registry.list()
    expect(registry.list()).toBe(before)
    offer([tool('late')])
    expect(names()).toEqual(['fixed', 'late', 'walk'])
    expect([registry.find('late')?.toolset, registry.find('early')]).toEqual(['live', undefined])
    expect(registry.list()).not.toBe(before)
    offer([])
    expect(names()).toEqual(['fixed', 'walk'])
  })

  it('leaves out and logs offered tools that are invalid or have a name that is taken', async () => {
    let offer: (tools: readonly Tool[]) => void = () => {}
    const context = createTestContext()
    const live = toolset('live', {
      open: async (_config, given) => {
        offer = (tools) => given.offer(tools)
        return { tools: [], close: async () => {} }
      },
    })
    const registry = await open([live, toolset('other', { tools: [tool('walk')] })], () => context)
    // The toolset that offers comes first in the list, and yet what was there stays.
    offer([tool('walk'), tool('Bad'), tool('good')])
    expect(registry.find('walk')?.toolset).toBe('other')
    expect(registry.find('good')?.toolset).toBe('live')
    expect(registry.problems).toEqual([])
    expect(context.logged.map(({ message }) => message)).toEqual([
      expect.stringContaining('A tool of the toolset "live" is left out: '),
      'The tool "walk" of the toolset "live" is left out: ' +
        'the toolset "other" has a tool of that name; ' +
        "rename it with `tools.rename: { 'live': { walk: '…' } }`.",
    ])
  })

  it('closes every toolset even if one fails to close', async () => {
    let closed = 0
    const live = (name: string, close: () => Promise<void>) =>
      toolset(name, { open: async () => ({ tools: [], close }) })
    const registry = await open([
      live('a', () => Promise.reject(new Error('stuck'))),
      live('b', async () => void closed++),
    ])
    await registry.close()
    expect(closed).toBe(1)
  })
})
