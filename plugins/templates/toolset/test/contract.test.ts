// Runs the suite of toolsets against a double of the service on a loopback address.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toolsetContract } from 'svc-gateway/testing'
import { afterAll } from 'vitest'
import toolset from '../src/index.ts'

const service = createServer((request, response) => {
  const query = new URL(request.url ?? '', 'http://service').searchParams.get('q')
  if (request.headers.authorization !== 'Bearer a-token') response.writeHead(403).end()
  else if (query === '*') response.writeHead(400).end()
  else response.end(JSON.stringify([{ title: `About ${query}`, url: 'https://example.com/1', summary: ' Short. ' }]))
})
await once(service.listen(0, '127.0.0.1'), 'listening')
afterAll(() => void service.close())

toolsetContract(toolset, {
  config: {
    url: `http://127.0.0.1:${(service.address() as AddressInfo).port}`,
    token: 'a-token',
    maxResults: 20,
  },
  module: new URL('../src/index.ts', import.meta.url),
  calls: [
    {
      tool: 'plugin_name_search',
      args: { query: 'tea & cake', limit: 3 },
      answer: [{ title: 'About tea & cake', url: 'https://example.com/1', summary: 'Short.' }],
    },
  ],
  refused: [
    { tool: 'plugin_name_search', args: { query: '' } },
    { tool: 'plugin_name_search', args: { query: '*' } },
    { tool: 'plugin_name_search', args: { query: 'tea', limit: 0 } },
  ],
})
