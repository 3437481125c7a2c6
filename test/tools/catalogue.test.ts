// Which tools there are: opened from their toolsets, without faults and twins, closed together.
import { describe, expect, it } from 'vitest'
import { defineTool, defineToolset, type PartContext, type Tool, type Toolset, type ToolsetContext, Type } from '../../core/plugin.ts'
import { openCatalogue } from '../../core/tools/catalogue.ts'
import { createTestContext } from '../contracts/context.ts'

const tool = (name: string, changes: Partial<Tool> = {}): Tool => ({
  ...defineTool({ name, description: `Does ${name}.`, args: Type.Object({}), execute: () => name }),
  ...changes,
})

const toolset = (name: string, rest: Partial<Toolset>): Toolset<never> => defineToolset({ name, description: `The set ${name}.`, ...rest })

const open = (toolsets: Toolset<never>[], context: (name: string) => PartContext = createTestContext) =>
  openCatalogue({ toolsets, settings: (name) => ({ of: name }), context })

describe('the catalogue', () => {
  it('lists the tools of all toolsets by name, and finds them by their exact name', async () => {
    const catalogue = await open([toolset('late', { tools: [tool('walk'), tool('dig')] }), toolset('early', { tools: [tool('jump')] })])
    expect(catalogue.list().map((entry) => [entry.tool.name, entry.toolset])).toEqual([
      ['dig', 'late'],
      ['jump', 'early'],
      ['walk', 'late'],
    ])
    expect(catalogue.find('jump')?.toolset).toBe('early')
    expect([catalogue.find('Jump'), catalogue.find('toString'), catalogue.problems]).toEqual([undefined, undefined, []])
  })

  it('opens a toolset with its settings and its own context, and closes it', async () => {
    const seen: unknown[] = []
    const contexts = new Map<string, PartContext>()
    const live = toolset('live', {
      tools: [tool('fixed')],
      open: async (config, context) => {
        seen.push(config, context.state === contexts.get('live')?.state)
        return { tools: [tool('remote')], close: async () => void seen.push('closed') }
      },
    })
    const catalogue = await open([live], (name) => {
      const context = createTestContext()
      contexts.set(name, context)
      return context
    })
    expect(catalogue.list().map((entry) => entry.tool.name)).toEqual(['fixed', 'remote'])
    await catalogue.close()
    expect(seen).toEqual([{ of: 'live' }, true, 'closed'])
  })

  it('leaves out a second tool of the same name, and says which two toolsets bring it', async () => {
    const catalogue = await open([toolset('one', { tools: [tool('same')] }), toolset('two', { tools: [tool('same'), tool('other')] })])
    expect(catalogue.find('same')?.toolset).toBe('one')
    expect(catalogue.find('other')?.toolset).toBe('two')
    expect(catalogue.problems).toEqual(['The tool "same" of the toolset "two" is left out: the toolset "one" has one of that name; rename one of them.'])
  })

  it('leaves out a toolset that cannot be opened, and goes on with the others', async () => {
    const broken = toolset('broken', { tools: [tool('lost')], open: () => Promise.reject(new Error('no connection')) })
    const catalogue = await open([broken, toolset('sound', { tools: [tool('found')] })])
    expect(catalogue.list().map((entry) => entry.tool.name)).toEqual(['found'])
    expect(catalogue.problems).toEqual(['The toolset "broken" is left out: it could not be opened (Error: no connection).'])
    await catalogue.close()
  })

  it('leaves out a tool with a fault that a connection brought', async () => {
    const faulty = [tool('Bad-Name'), tool('no_schema', { args: undefined as never }), tool('good')]
    const catalogue = await open([toolset('live', { open: async () => ({ tools: faulty, close: async () => {} }) })])
    expect(catalogue.list().map((entry) => entry.tool.name)).toEqual(['good'])
    expect(catalogue.problems).toHaveLength(2)
    expect(catalogue.problems[0]).toContain('A tool of the toolset "live" is left out: ')
  })

  it('learns of tools that come and go while the gateway runs', async () => {
    let offer: (tools: readonly Tool[]) => void = () => {}
    const openLive = async (_config: unknown, context: ToolsetContext) => {
      offer = (tools) => context.offer(tools)
      offer([tool('early')])
      return { tools: [tool('fixed')], close: async () => {} }
    }
    const catalogue = await open([toolset('live', { open: openLive }), toolset('other', { tools: [tool('walk')] })])
    const names = () => catalogue.list().map((entry) => entry.tool.name)
    expect(names()).toEqual(['early', 'fixed', 'walk'])
    const before = catalogue.list()
    expect(catalogue.list()).toBe(before)
    offer([tool('late')])
    expect(names()).toEqual(['fixed', 'late', 'walk'])
    expect([catalogue.find('late')?.toolset, catalogue.find('early')]).toEqual(['live', undefined])
    expect(catalogue.list()).not.toBe(before)
    offer([])
    expect(names()).toEqual(['fixed', 'walk'])
  })

  it('leaves out late tools with a fault or a name that is taken, and tells it in the log', async () => {
    let offer: (tools: readonly Tool[]) => void = () => {}
    const context = createTestContext()
    const live = toolset('live', {
      open: async (_config, given) => {
        offer = (tools) => given.offer(tools)
        return { tools: [], close: async () => {} }
      },
    })
    const catalogue = await open([live, toolset('other', { tools: [tool('walk')] })], () => context)
    // The toolset that offers comes first in the list, and yet what was there stays.
    offer([tool('walk'), tool('Bad'), tool('good')])
    expect(catalogue.find('walk')?.toolset).toBe('other')
    expect(catalogue.find('good')?.toolset).toBe('live')
    expect(catalogue.problems).toEqual([])
    expect(context.logged.map(({ message }) => message)).toEqual([
      expect.stringContaining('A tool of the toolset "live" is left out: '),
      'The tool "walk" of the toolset "live" is left out: the toolset "other" has one of that name; rename one of them.',
    ])
  })

  it('closes every toolset though one fails to', async () => {
    let closed = 0
    const live = (name: string, close: () => Promise<void>) => toolset(name, { open: async () => ({ tools: [], close }) })
    const catalogue = await open([live('a', () => Promise.reject(new Error('stuck'))), live('b', async () => void closed++)])
    await catalogue.close()
    expect(closed).toBe(1)
  })
})
