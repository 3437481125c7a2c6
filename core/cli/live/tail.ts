// The command `tail`: prints what happens in the running gateway, and connects again when the connection is lost.
import { setTimeout as delay } from 'node:timers/promises'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import { type ControlOptions, locateGateway } from '../control-client.ts'
import { stopAtClosedPipe } from '../inspect/output.ts'
import { describeRecord, isSelected, type RecordFilter, type Topic } from './record-line.ts'
import { connectRpc } from './rpc-client.ts'

interface TailOptions extends ControlOptions, RecordFilter {
  topic: string[]
  limit?: number
  json?: boolean
}

/** Waits between attempts to connect again; the last one repeats. */
const retryMs = [500, 1_000, 2_000, 5_000, 10_000]

export async function tail(options: TailOptions): Promise<void> {
  stopAtClosedPipe()
  const finished = Promise.withResolvers<'finished'>()
  const print = createPrinter(options, () => finished.resolve('finished'))
  const gateway = locateGateway(options)
  // Asking for no topic means all of them.
  const params = options.topic.length > 0 ? { topics: options.topic } : {}
  let failures = -1
  for (;;) {
    try {
      using rpc = await connectRpc(gateway, print)
      await rpc.call('subscribe', params)
      process.stderr.write(failures < 0 ? 'Connected; Ctrl-C ends.\n' : 'Connected again.\n')
      failures = 0
      const reason = await Promise.race([rpc.closed, finished.promise])
      if (reason === 'finished') return
      process.stderr.write(`The connection was lost (${reason}); what happens until it is back is not shown.\n`)
    } catch (error) {
      if (failures < 0 || !(error instanceof CommandError) || error.exitCode !== exitCodes.unreachable) throw error
    }
    await delay(retryMs[failures] ?? retryMs.at(-1))
    failures += 1
  }
}

/** `onLimit` is called after the last record that `--limit` allows. */
function createPrinter({ limit = Infinity, json, ...filter }: TailOptions, onLimit: () => void) {
  let count = 0
  return (topic: string, record: unknown): void => {
    if (count >= limit || !isSelected(topic as Topic, record, filter)) return
    const line = json ? JSON.stringify({ topic, record }) : describeRecord(topic as Topic, record)
    process.stdout.write(`${line}\n`)
    count += 1
    if (count >= limit) onLimit()
  }
}
