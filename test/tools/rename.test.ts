// tools.rename: the new names in lists, calls, the policy, MCP and OpenAPI, and what a new name does not change.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { findProblems } from '../../core/cli/check/check.ts'
import { type Document, gatewayToken, startGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { share } from '../share.ts'

const operator = { authorization: `Bearer ${gatewayToken}` }

/** Two plugins have a tool `search`; the second one also has a tool with functions that rely on `this`. */
const plugin = (name: string) => `
  import { defineToolset, Type } from 'svc-gateway/plugin'
  class Count { name = 'count'; description = 'Counts.'; args = Type.Object({ by: Type.Number() }); changes = 'adds'
    by = 2
    execute = function ({ by }) { return by * this.by } }
  const search = { name: 'search', description: 'Searches ${name}.', args: Type.Object({ text: Type.String() }),
    changes: 'nothing', effects: ['reads-private'], execute: ({ text }) => '${name}: ' + text }
  export default defineToolset({ name: '${name}', description: '${name}.',
    tools: '${name}' === 'wiki' ? [search, new Count()] : [search] })`

function writePlugins(): { dir: string; plugins: string[] } {
  const dir = temporaryFolder()
  for (const name of ['shop', 'wiki']) writeFileSync(join(dir, `${name}.mjs`), plugin(name))
  return { dir, plugins: ['./shop.mjs', './wiki.mjs'] }
}

async function start(changes: Document) {
  const { dir, plugins } = writePlugins()
  const gateway = await startGateway({ plugins, ...changes }, dir)
  const names = async () => (await gateway.get('/tools')).body.items.map(({ name }: { name: string }) => name)
  const call = async (tool: string, args: object) =>
    (await gateway.post('/tools/invoke', { tool, args }, operator)).body
  const list = async () => {
    const request = { jsonrpc: '2.0', id: 1, method: 'tools/list' }
    const headers = { ...operator, accept: 'application/json, text/event-stream' }
    const body = JSON.stringify(request)
    const response = await fetch(`${gateway.url}/mcp`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    })
    const text = await response.text()
    const json = JSON.parse(text.startsWith('{') ? text : text.slice(text.indexOf('{'))) as {
      result: { tools: { name: string; annotations: object }[] }
    }
    return json.result.tools
  }
  return { ...gateway, names, call, list }
}

const rename = { wiki: { search: 'find_page', '*': 'wiki_*' }, files: { read: 'open_file' }, exec: { '*': 'shell_*' } }
const renamed = share(() => start({ tools: { rename, allow: ['group:fs', 'shop', 'wiki', 'shell_exec'] } }))

describe('tools.rename', () => {
  it('lets two toolsets have tools of the same name', async () => {
    const { call, names, logged } = renamed()
    expect(await names()).toEqual(expect.arrayContaining(['find_page', 'search', 'wiki_count']))
    expect(await names()).not.toContain('count')
    expect(await call('search', { text: 'x' })).toMatchObject({ result: 'shop: x' })
    expect(await call('find_page', { text: 'x' })).toMatchObject({ result: 'wiki: x' })
    expect(await call('wiki_count', { by: 3 })).toMatchObject({ result: 6 })
    expect(await call('count', { by: 3 })).toMatchObject({ error: { type: 'tool_not_available' } })
    expect(logged.filter((line) => line.includes('left out'))).toEqual([])
  })

  it('is in the lists of MCP, with what a tool does, and in the OpenAPI document', async () => {
    const { list, get } = renamed()
    const tools = new Map((await list()).map(({ name, annotations }) => [name, annotations]))
    expect(tools.get('find_page')).toEqual({
      readOnlyHint: true,
      destructiveHint: false,
      idempotentHint: true,
      openWorldHint: false,
    })
    expect(tools.get('wiki_count')).toEqual({
      readOnlyHint: false,
      destructiveHint: false,
      idempotentHint: false,
      openWorldHint: true,
    })
    expect(tools.get('write')).toMatchObject({ readOnlyHint: false, destructiveHint: true })
    const { paths } = (await get('/openapi.json')).body
    const { anyOf } = paths['/tools/invoke'].post.requestBody.content['application/json'].schema
    const titles = anyOf.map(({ title }: { title: string }) => title)
    expect(titles).toEqual([...tools.keys(), 'A tool of another session'])
    expect(anyOf[titles.indexOf('wiki_count')]).toMatchObject({
      description: 'Counts.',
      properties: { tool: { const: 'wiki_count' }, args: { properties: { by: { type: 'number' } } } },
    })
  })

  it('keeps a tool in its built-in groups, and denied where it is denied by default', async () => {
    const { names, post } = renamed()
    expect(await names()).toEqual(expect.arrayContaining(['open_file', 'list', 'write', 'shell_exec']))
    const question = { tool: 'shell_exec', origin: 'hook' }
    const { body } = await post('/tools/explain', question, operator)
    expect(body).toMatchObject({ allowed: false, rule: expect.stringContaining('denied to webhooks by default') })
  })

  it('leaves out a tool whose new name is too long', async () => {
    const long = `${'a'.repeat(60)}_*`
    const { names, logged } = await start({ tools: { rename: { wiki: { '*': long } } } })
    expect(await names()).toEqual(expect.arrayContaining(['search']))
    expect(logged.filter((line) => line.includes('has more than 64 characters; choose a shorter name'))).toHaveLength(2)
  })
})

describe('check', () => {
  const check = async (tools: Document) => {
    const { dir, plugins } = writePlugins()
    const found = await findProblems(writeConfig(dir, { plugins, tools }))
    return found.map(({ path, problem }) => `${path} ${problem}`)
  }

  it('names tools of the same name, and how to rename one', async () => {
    expect(await check({})).toEqual([
      'tools.rename leaves two tools with the name "search", of the toolsets "shop" and "wiki", so the second one is left ' +
        `out; rename it: { 'wiki': { search: '…' } }`,
    ])
    expect(await check({ rename: { wiki: { '*': 'wiki_*' } } })).toEqual([])
  })

  it('names what is renamed and does not exist, and the new name of a tool that a policy calls by its old one', async () => {
    const rename = { wiki: { serch: 'find', '*': 'wiki_*' }, shpo: { '*': 'x_*' } }
    expect(await check({ rename, deny: ['count', 'wiki_count'] })).toEqual([
      'tools.rename.wiki.serch is no tool of the toolset "wiki"; check the spelling, and whether its plugin is loaded.',
      'tools.rename.shpo is no toolset with tools; check the spelling, and whether its plugin is loaded.',
      'tools.deny names "count", but no loaded tool has this name; did you mean "wiki_count"?',
    ])
  })

  it.each([
    [{ wiki: { search: 'Find-It' } }, 'tools.rename.wiki.search must match'],
    [{ wiki: { '*': 'wiki' } }, 'tools.rename.wiki.* must match'],
    [{ wiki: 'find' }, 'tools.rename.wiki must be an object'],
  ])('refuses %j', async (wrong, problem) => {
    expect((await check({ rename: wrong }))[0]).toContain(problem)
  })
})
