// Tests GET /openapi.json.
import { Validator } from '@seriousme/openapi-schema-validator'
import { describe, expect, it } from 'vitest'
import { shareGateway, startGateway } from '../helpers.ts'

type Operation = {
  summary?: string
  tags: string[]
  security: object[]
  parameters?: { name: string; in: string; required: boolean }[]
  requestBody?: object
  responses: Record<string, object>
}

describe('GET /openapi.json', () => {
  const { get } = shareGateway()
  const operations = async () => {
    const { paths } = (await get('/openapi.json')).body as { paths: Record<string, Record<string, Operation>> }
    return Object.entries(paths).flatMap(([path, item]) =>
      Object.entries(item).map(([method, operation]) =>
        Object.assign(operation, { name: `${method.toUpperCase()} ${path}` }),
      ),
    )
  }

  it('is valid OpenAPI 3.1', async () => {
    const { status, headers, body } = await get('/openapi.json')
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8')
    expect(body.openapi).toBe('3.1.0')
    expect(await new Validator().validate(body)).toMatchObject({ valid: true })
  })

  it('has every route of every route group, with its summary, credential and responses', async () => {
    const all = await operations()
    const { routes } = (await get('/api/extensions')).body as { routes: { method: string; path: string }[] }
    expect(all.map(({ name }) => name).toSorted()).toEqual(
      routes.map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, '{$1}')}`).toSorted(),
    )
    expect(all).toEqual(
      all.map(({ name }) =>
        expect.objectContaining({
          summary: expect.stringMatching(/[.?]$/),
          tags: [expect.stringMatching(/^(hooks|tools|mcp|control|socket|health|docs|page)$/)],
          description: expect.stringMatching(/^Needs .*\.$/),
          security: expect.any(Array),
          responses: expect.objectContaining({ [name === 'GET /ws' ? 101 : 200]: expect.anything() }),
        }),
      ),
    )
  })

  it('requires a credential for all routes except health, the pages and the WebSocket', async () => {
    const open = (await operations()).filter(({ security }) => security.length === 0).map(({ name }) => name)
    expect(open).toEqual([
      'GET /',
      'GET /page/{file}',
      'GET /page/panels/{file}',
      'POST /page/sign-in',
      'GET /healthz',
      'GET /readyz',
      'GET /docs',
      'GET /docs/{file}',
      'GET /ws',
    ])
  })

  it('describes the bodies, headers and statuses of the hooks', async () => {
    const { paths } = (await get('/openapi.json')).body
    const { post } = paths['/hooks/agent'] as {
      post: Operation & {
        requestBody: { content: Record<string, { schema: { properties: Record<string, { enum?: string[] }> } }> }
      }
    }
    expect(post.requestBody.content['application/json']!.schema.properties['channel']!.enum).toEqual(
      expect.arrayContaining(['last', 'console', 'whatsapp']),
    )
    expect(post.parameters).toMatchObject([
      { name: 'idempotency-key', in: 'header', required: false },
      { name: 'prefer', in: 'header', required: false },
    ])
    expect(Object.keys(post.responses)).toEqual([
      '200',
      '400',
      '401',
      '405',
      '408',
      '413',
      '415',
      '422',
      '429',
      '431',
      '503',
    ])
  })

  it('says that mapped hooks accept forms', async () => {
    const { get: ask } = await startGateway({
      hooks: { mappings: [{ match: { path: 'form' }, messageTemplate: 'x' }] },
    })
    const { paths } = (await ask('/openapi.json')).body
    const types = (path: string) => Object.keys(paths[path].post.requestBody.content)
    expect(types('/hooks/form')).toEqual([
      'application/json',
      'application/x-www-form-urlencoded',
      'multipart/form-data',
    ])
    expect(types('/hooks/wake')).toEqual(['application/json'])
  })

  it('describes a limit as a number, and a query parameter that it does not list is 400', async () => {
    const { paths } = (await get('/openapi.json')).body
    const limit = paths['/api/runs'].get.parameters.find(({ name }: { name: string }) => name === 'limit')
    expect(limit.schema).toEqual({ type: 'integer', minimum: 1, maximum: 200, default: 50 })
    expect((await get('/api/runs?limit=200')).status).toBe(200)
    for (const path of ['/api/runs?agent=main', '/api/me?agent=x', '/api/outbox?limit=5&agent=x'])
      expect(await get(path)).toMatchObject({
        status: 400,
        body: {
          error: { type: 'invalid_request', message: 'The query parameter "agent" is not known; check its name.' },
        },
      })
  })

  it('follows hooks.path and hooks.enabled', async () => {
    const moved = await startGateway({ hooks: { path: '/in' } })
    expect(Object.keys((await moved.get('/openapi.json')).body.paths)).toEqual(
      expect.arrayContaining(['/in/wake', '/in/agent']),
    )
    const closed = await startGateway({ hooks: { enabled: false } })
    const paths = Object.keys((await closed.get('/openapi.json')).body.paths)
    expect(paths.filter((path) => path.startsWith('/hooks'))).toEqual([])
  })

  it('requires the credential, because it names the channels and hooks', async () => {
    expect((await get('/openapi.json', { authorization: 'Bearer wrong' })).status).toBe(401)
  })
})
