// Scenarios that kill a gateway, with the checks that must hold afterwards.
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { expect } from 'vitest'
import { openStore } from '../store/open-store.ts'
import { chooseSeed, createRandom } from '../config/random.ts'
import { cancelledEnd, newRequest, newEvent, newRun } from '../contracts/store-samples.ts'
import { startModel } from '../doubles/model.ts'
import { hookToken, spawnGateway, startGatewayOn, temporaryFolder, writeConfig } from '../helpers.ts'
import { silent } from '../store/acknowledging.ts'
import { crashConfig, crashLoop, expectRead, expectReplied } from './crash-loop.ts'
import { ended, get } from './process.ts'

/** Kills the gateway at random moments under load. Returns how much it had accepted. */
export async function surviveCrashes({
  cycles,
  clients,
}: {
  cycles: number
  clients: number
}): Promise<{ wakes: number; runs: number }> {
  const next = createRandom(chooseSeed())
  const [dir, model] = [temporaryFolder(), await startModel()]
  const configFile = writeConfig(dir, crashConfig(dir, model))
  const random = (bound: number): number => Math.floor(next() * bound)
  const { accepted, gateway } = await crashLoop({ configFile, model, random, cycles, clients })
  await expectReplied(gateway.url, join(dir, 'console.jsonl'), accepted.runs)
  await expectRead(gateway.url, model, [...accepted.wakes, ...accepted.runs.keys()])
  return { wakes: accepted.wakes.length, runs: accepted.runs.size }
}

/** Kills the gateway at the first byte of a response, which already promises durability. */
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
  const { url } = await startGatewayOn(configFile)
  await expectRead(url, model, texts)
}

/** Kills the gateway under load while it purges `old` requests of forty days ago, some of whose events still wait. */
export async function surviveCrashesWhileForgetting({
  cycles,
  clients,
  old,
  maxMb,
}: {
  cycles: number
  clients: number
  old: number
  maxMb: number
}): Promise<void> {
  const next = createRandom(chooseSeed())
  const [dir, model] = [temporaryFolder(), await startModel()]
  const size = (): number => statSync(join(dir, 'state/gateway.db')).size / 1024 / 1024
  const waiting = await leaveBehind(dir, old)
  expect(size()).toBeGreaterThan(maxMb)
  const configFile = writeConfig(dir, { ...crashConfig(dir, model), storage: { retention: { maxMb } } })
  const random = (bound: number): number => Math.floor(next() * bound)
  const { accepted, gateway } = await crashLoop({ configFile, model, random, cycles, clients })
  // The summary of a run is read after its end, so a run that is not found has ended, too.
  for (const id of accepted.runs.values()) await ended(gateway.url, id)
  await expectRead(gateway.url, model, [...waiting, ...accepted.wakes, ...accepted.runs.keys()])
  await expect.poll(async () => (await get(gateway.url, `/runs/old-${old - 1}`)).status, { timeout: 120_000 }).toBe(404)
  await expect.poll(size, { timeout: 120_000 }).toBeLessThanOrEqual(maxMb)
}

/** Returns the texts of the wakes that still wait. */
async function leaveBehind(dir: string, old: number): Promise<string[]> {
  const store = await openStore({ url: 'sqlite:state/gateway.db', dir, log: silent })
  const at = Date.now() - 40 * 24 * 60 * 60 * 1000
  const waiting: string[] = []
  const leave = async (n: number): Promise<void> => {
    const text = `<c0-${1_000_000 + n}>`
    const request = newRequest({ body: JSON.stringify({ text, padding: 'x'.repeat(2000) }) })
    if (n % 100 > 0)
      await store.accept({ at, request, runs: [newRun({ id: `old-${n}`, sessionKey: `agent:main:old-${n}` })] })
    else await store.accept({ at, request, events: [newEvent({ text, inBody: true, sessionKey: 'agent:main:main' })] })
    if (n % 100 > 0) await store.endQueuedRun(`old-${n}`, cancelledEnd(at))
    else waiting.push(text)
  }
  for (let n = 0; n < old; n += 1000)
    await Promise.all(Array.from({ length: Math.min(1000, old - n) }, (_, more) => leave(n + more)))
  await store.close()
  return waiting
}

async function firstByte(url: string, wake: object): Promise<void> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  const body = JSON.stringify(wake)
  socket.write(
    `POST /hooks/wake HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${hookToken}\r\n` +
      `content-length: ${body.length}\r\n\r\n${body}`,
  )
  const [bytes] = (await once(socket, 'data')) as [Buffer]
  if (!bytes.toString().startsWith('HTTP/1.1 200')) throw new Error(`answered ${bytes.toString().slice(0, 100)}`)
  socket.on('error', () => socket.destroy())
}
