// A child process that accepts runs in a loop and prints the id of each acknowledged run. Tests kill it.
import { fork, type ChildProcess } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { openStore } from './open-store.ts'
import { newRequest, newEvent, newRun } from '../contracts/store-samples.ts'

export const silent = { debug() {}, info() {}, warn() {}, error() {} }
export const url = 'sqlite:state/gateway.db'

/** Starts the child process on the store in `dir`. */
export function startAcknowledging(dir: string): {
  child: ChildProcess
  acknowledged: () => string[]
  firstOne: Promise<void>
  ended: Promise<void>
} {
  const child = fork(import.meta.filename, [dir], { stdio: ['ignore', 'pipe', 'inherit', 'ipc'], execArgv: [] })
  let output = ''
  const { promise: firstOne, resolve } = Promise.withResolvers<void>()
  child.stdout?.on('data', (chunk: Buffer) => {
    output += chunk.toString('latin1')
    resolve()
  })
  const ended = once(child, 'close').then(() => resolve())
  // An incomplete last line acknowledges nothing.
  return { child, acknowledged: () => output.split('\n').slice(0, -1), firstOne, ended }
}

async function acknowledge(dir: string): Promise<void> {
  const store = await openStore({ url, dir, log: silent })
  const client = async () => {
    for (;;) {
      const run = newRun({ id: randomUUID(), sessionKey: `agent:main:${randomUUID()}` })
      const at = Date.now()
      await store.accept({
        at,
        request: newRequest({ id: run.id, body: 'x'.repeat(500) }),
        runs: [run],
        events: [newEvent({ id: run.id })],
      })
      process.stdout.write(`${run.id}\n`)
    }
  }
  await Promise.all(Array.from({ length: 16 }, client))
}

if (process.argv[1] === import.meta.filename) await acknowledge(process.argv[2]!)
