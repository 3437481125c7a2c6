// Starts a gateway in this process that commands reach with its configuration file, as one that `start` has started.
import { writeListening } from '../../core/cli/listening.ts'
import { type RunningGateway, startGatewayOn } from '../helpers.ts'

export async function startReachable(file: string): Promise<RunningGateway> {
  const running = await startGatewayOn(file)
  writeListening(file, { bind: '127.0.0.1', port: Number(new URL(running.url).port) })
  return running
}
