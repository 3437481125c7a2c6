// Measures how much memory an idle gateway needs with each channel connected to its double.
import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { type ChannelDouble, channelDoubles } from '../doubles/channels.ts'
import { median } from './report.ts'
import { gatewayToken, startChannels } from './servers.ts'

/** What is measured: a name, and the doubles that the gateway is connected to. */
type Target = [name: string, open: readonly (() => Promise<ChannelDouble>)[]]

/** The Cloud API and a linked device are two ways to connect one channel; the device is the larger one. */
const cloud = 'whatsapp (Cloud API)'
const all = Object.entries(channelDoubles).flatMap(([name, open]) => (name === cloud ? [] : [open]))

const targets: readonly Target[] = [
  ['no channel', []],
  ...Object.entries(channelDoubles).map(([name, open]): Target => [name, [open]]),
  ['all eight', all],
]

/** Measures every target once per round, so that a slow minute of the machine affects all of them. */
export async function benchChannels(dir: string, rounds: number): Promise<void> {
  const idleMb = new Map(targets.map(([name]) => [name, new Array<number>()]))
  for (let round = 0; round < rounds; round++) {
    for (const [name, open] of targets) idleMb.get(name)?.push(await measure(mkdtempSync(join(dir, 'channels-')), open))
  }
  const base = median(idleMb.get('no channel') ?? [])
  const rows = Array.from(idleMb, ([name, measured]) => {
    const mb = median(measured)
    return { channel: name, 'idle MB': Math.round(mb), 'more than without': Math.round(mb - base) }
  })
  console.table(rows)
}

/** How long an idle gateway has for the garbage collection after its start. */
const settleMs = 3_000

async function measure(dir: string, open: Target[1]): Promise<number> {
  const doubles = await Promise.all(open.map((openDouble) => openDouble()))
  for (const { prepare } of doubles) await prepare?.(dir)
  const server = await startChannels(dir, doubles)
  try {
    while ((await connectedChannels(server.url)) < doubles.length) await pause(50)
    await pause(settleMs)
    return server.ownMemoryMb()
  } finally {
    await server.stop()
    await Promise.all(doubles.map(({ close }) => close()))
  }
}

async function connectedChannels(url: string): Promise<number> {
  const answer = await fetch(`${url}/api/channels`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  return [...(await answer.text()).matchAll(/"connected"/g)].length
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms))
