// Finding model servers on this machine.
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it, onTestFinished } from 'vitest'
import { findLocalServers } from '../../core/config/local-servers.ts'

async function serve(name: string, answer: RequestListener) {
  const server = createServer(answer)
  const listening = Promise.withResolvers<void>()
  server.listen(0, '127.0.0.1', listening.resolve)
  await listening.promise
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  return { name, title: name.toUpperCase(), port: (server.address() as AddressInfo).port }
}

const models =
  (...ids: unknown[]): RequestListener =>
  (request, response) =>
    response.end(JSON.stringify(request.url === '/v1/models' ? { data: ids.map((id) => ({ id })) } : {}))

describe('findLocalServers', () => {
  it('finds servers that answer, with their models', async () => {
    const servers = await Promise.all([serve('one', models('llama3.2:3b', 'org/big')), serve('two', models())])
    expect(await findLocalServers({ servers })).toEqual([
      { name: 'one', title: 'ONE', url: `http://127.0.0.1:${servers[0]?.port}/v1`, models: ['llama3.2:3b', 'org/big'] },
      { name: 'two', title: 'TWO', url: `http://127.0.0.1:${servers[1]?.port}/v1`, models: [] },
    ])
  })

  it('ignores other servers, silent ones and closed ports', async () => {
    const gone = await serve('gone', models())
    const servers = await Promise.all([
      serve('page', (_, response) => response.end('<html>')),
      serve('other', (_, response) => response.end('{"data":{}}')),
      serve('refuses', (_, response) => response.writeHead(401).end('{"data":[]}')),
      serve('elsewhere', (_, response) =>
        response.writeHead(302, { location: `http://127.0.0.1:${gone.port}/v1/models` }).end(),
      ),
      serve('silent', () => {}),
    ])
    expect(
      await findLocalServers({ servers: [...servers, { name: 'closed', title: 'Closed', port: 1 }], timeoutMs: 50 }),
    ).toEqual([])
  })

  it('leaves out ids with unusual characters', async () => {
    const servers = [
      await serve('sly', models('fine', "x',\n hooks: {}", 'a\u2028b', '\u001b[2J', 'x'.repeat(201), 5, '')),
    ]
    expect((await findLocalServers({ servers })).flatMap((server) => server.models)).toEqual(['fine'])
  })
})
