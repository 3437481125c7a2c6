// Prints what happens in the running gateway, and connects again when the connection is lost.
import { setTimeout as delay } from 'node:timers/promises'
import { type CommandContext, exitCodes, isCommandError, type Terminal } from 'svc-gateway/plugin'
import { isSelected, readRecord, type RecordFilter } from './record.ts'

interface TailInput extends RecordFilter {
  topic: readonly string[]
  limit?: number
  json?: boolean
}

/** Waits between attempts to connect again; the last one repeats. */
const retryMs = [500, 1_000, 2_000, 5_000, 10_000]

export async function tail(input: TailInput, { control, terminal }: CommandContext<'control'>): Promise<void> {
  const finished = Promise.withResolvers<'finished'>()
  const print = createPrinter(input, { terminal, onLimit: () => finished.resolve('finished') })
  // Asking for no topic means all of them.
  const params = input.topic.length > 0 ? { topics: input.topic } : {}
  let failures = -1
  for (;;) {
    try {
      using connection = await control.connect(print)
      await connection.call('subscribe', params)
      terminal.notify(failures < 0 ? 'Connected; Ctrl-C ends.' : 'Connected again.')
      failures = 0
      const reason = await Promise.race([connection.closed, finished.promise])
      if (reason === 'finished') return
      terminal.notify(`The connection was lost (${reason}); what happens until it is back is not shown.`)
    } catch (error) {
      if (failures < 0 || !isCommandError(error) || error.exitCode !== exitCodes.unreachable) throw error
    }
    await delay(retryMs[failures] ?? retryMs.at(-1))
    failures += 1
  }
}

/** `onLimit` is called after the last record that `--limit` allows. */
function createPrinter(
  { limit = Infinity, json, ...filter }: TailInput,
  { terminal, onLimit }: { terminal: Terminal; onLimit(): void },
) {
  let count = 0
  return (topic: string, record: unknown): void => {
    const facts = readRecord(topic, record)
    if (count >= limit || !isSelected(facts, filter)) return
    // The records of the outbox have no time of their change, so they get the present.
    const { at = new Date().toISOString(), status, text } = facts
    if (json) terminal.printJson({ topic, record })
    else terminal.printRow([at, topic.padEnd(7), status.padEnd(9), text])
    count += 1
    if (count >= limit) onLimit()
  }
}
