// The two ways in which the tests kill a gateway, and what must hold afterwards.
import { once } from 'node:events'
import { connect } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { createRandom, seed } from '../config/random.ts'
import { startModel } from '../doubles/model.ts'
import { hookToken, spawnGateway, temporaryFolder, writeConfig } from '../helpers.ts'
import { crashConfig, crashLoop, expectRead, expectReplied } from './crash-loop.ts'

/** Kills it at random moments under load; answers how much had been accepted. */
export async function surviveCrashes({ cycles, clients }: { cycles: number; clients: number }): Promise<{ wakes: number; runs: number }> {
  process.stdout.write(`SEED=${seed}\n`)
  const next = createRandom(seed)
  const [dir, model] = [temporaryFolder(), await startModel()]
  const configFile = writeConfig(dir, crashConfig(dir, model))
  const random = (bound: number): number => Math.floor(next() * bound)
  const { accepted, gateway } = await crashLoop({ configFile, model, random, cycles, clients })
  await expectReplied(gateway.url, join(dir, 'console.jsonl'), accepted.runs)
  await expectRead(gateway.url, model, [...accepted.wakes, ...accepted.runs.keys()])
  return { wakes: accepted.wakes.length, runs: accepted.runs.size }
}

/** Kills it as soon as the first byte of an answer has come: that byte already promises everything. */
export async function surviveCrashesAfterAcks({ cycles }: { cycles: number }): Promise<void> {
  const [dir, model] = [temporaryFolder(), await startModel()]
  model.otherwise({ text: 'HEARTBEAT_OK' })
  const configFile = writeConfig(dir, crashConfig(dir, model))
  const texts = Array.from({ length: cycles }, (_, cycle) => `<c0-${cycle}>`)
  for (const text of texts) {
    const gateway = await spawnGateway(configFile)
    await firstByte(gateway.url, { text, mode: 'next-heartbeat' })
    await gateway.end('SIGKILL')
  }
  const gateway = await spawnGateway(configFile)
  onTestFinished(async () => void (await gateway.end('SIGKILL')))
  await expectRead(gateway.url, model, texts)
}

async function firstByte(url: string, wake: object): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify(wake)
  socket.write(`POST /hooks/wake HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${hookToken}\r\ncontent-length: ${body.length}\r\n\r\n${body}`)
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  if (!bytes.toString().startsWith('HTTP/1.1 200')) throw new Error(`answered ${bytes.toString().slice(0, 100)}`)
  socket.on('error', () => socket.destroy())
}
