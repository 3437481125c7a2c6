// Reloads the configuration repeatedly while clients post, for the short and the long test.
import { startGateway, writeConfig } from '../helpers.ts'

/** Writes an invalid file every third time. @returns The distinct statuses that the clients got. */
export async function reloadUnderLoad(times: number): Promise<number[]> {
  const running = await startGateway()
  const statuses = new Set<number>()
  let over = false
  const clients = Array.from({ length: 8 }, async (_, client) => {
    for (let n = 0; !over; n++)
      statuses.add((await running.post('/hooks/wake', { text: `${client} ${n}`, mode: 'next-heartbeat' })).status)
  })
  for (let round = 0; round < times; round++) {
    writeConfig(running.dir, round % 3 === 0 ? { hooks: { path: 5 } } : { session: { historyTurns: (round % 50) + 1 } })
    await running.gateway.reload().catch(() => undefined)
  }
  over = true
  await Promise.all(clients)
  return [...statuses]
}
