// Finding model servers on this machine.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findLocalServers } from '../../core/config/local-servers.ts'
import type { ModelServer, Provider } from '../../core/plugin/plugin.ts'
import openAiCompatible from '../../plugins/providers/openai-compatible.ts'

async function serve(name: string, answer: RequestListener) {
  const server = createServer(answer)
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  return { name, title: name.toUpperCase(), baseUrl: `http://127.0.0.1:${port}/v1` }
}

const models =
  (...ids: unknown[]): RequestListener =>
  (request, response) =>
    response.end(JSON.stringify(request.url === '/v1/models' ? { data: ids.map((id) => ({ id })) } : {}))

/** The provider knows these servers. */
const find = (localServers: readonly ModelServer[], options?: { timeoutMs: number }) =>
  findLocalServers(new Map([['mine', { ...openAiCompatible, name: 'mine', localServers } as Provider]]), options)

describe('findLocalServers', () => {
  it('finds servers that answer, with their models', async () => {
    const servers = await Promise.all([serve('one', models('llama3.2:3b', 'org/big')), serve('two', models())])
    expect(await find(servers)).toEqual([
      { kind: 'mine', ...servers[0], models: ['llama3.2:3b', 'org/big'] },
      { kind: 'mine', ...servers[1], models: [] },
    ])
  })

  it('ignores other servers, silent ones and closed ports', async () => {
    const gone = await serve('gone', models())
    const servers = await Promise.all([
      serve('page', (_, response) => response.end('<html>')),
      serve('other', (_, response) => response.end('{"data":{}}')),
      serve('refuses', (_, response) => response.writeHead(401).end('{"data":[]}')),
      serve('elsewhere', (_, response) => response.writeHead(302, { location: `${gone.baseUrl}/models` }).end()),
      serve('silent', () => {}),
    ])
    expect(
      await find([...servers, { name: 'closed', title: 'Closed', baseUrl: 'http://127.0.0.1:1/v1' }], {
        timeoutMs: 50,
      }),
    ).toEqual([])
  })

  it('leaves out ids with unusual characters', async () => {
    const servers = [
      await serve('sly', models('fine', "x',\n hooks: {}", 'a\u2028b', '\u001b[2J', 'x'.repeat(201), 5, '')),
    ]
    expect((await find(servers)).flatMap((server) => server.models)).toEqual(['fine'])
  })
})
