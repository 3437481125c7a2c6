// Ten thousand connections that never say a word: whoever has something to say is answered, and they are let go.
import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'

it('answers while ten thousand connections are silent, and ends them', async () => {
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
  // In portions that fit into the queue of the system, which would forget what is beyond it.
  for (let portion = 0; portion < 50; portion++) {
    const silent = Array.from({ length: 200 }, () => connect(Number(port), hostname).resume())
    gone.push(...silent.map((socket) => once(socket, 'close')))
    await Promise.all(silent.map((socket) => once(socket, 'connect')))
  }
  expect((await wake()).status).toBe(200)
  await Promise.all(gone)
  expect((await wake()).status).toBe(200)
})
