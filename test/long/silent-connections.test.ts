// Tests ten thousand idle connections: other clients are answered, and the idle connections time out.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'

it('answers while ten thousand connections are idle, and closes them', async () => {
  const gateway = await spawnGateway(writeConfig(temporaryFolder(), { gateway: { port: 0 } }))
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
  const { hostname, port } = new URL(gateway.url)
  const wake = () =>
    fetch(`${gateway.url}/hooks/wake`, {
      method: 'POST',
      headers: { authorization: `Bearer ${hookToken}` },
      body: '{"text":"Is anybody there?","mode":"next-heartbeat"}',
    })

  const gone: Promise<unknown>[] = []
  // Connects in batches that fit into the listen backlog of the system.
  for (let portion = 0; portion < 50; portion++) {
    const silent = Array.from({ length: 200 }, () =>
      connect(Number(port), hostname)
        .resume()
        .on('error', () => {}),
    )
    gone.push(...silent.map((socket) => once(socket, 'close')))
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
  }
  expect((await wake()).status).toBe(200)
  await Promise.all(gone)
  expect((await wake()).status).toBe(200)
})
