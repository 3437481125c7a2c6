// A child process that performs store operations for its parent, which limits the size of its files.
import { GatewayError } from '../../core/errors.ts'
import { openStore } from './open-store.ts'
import { newRequest, newRun } from '../contracts/store-samples.ts'
import { silent, url } from './acknowledging.ts'

export type Request = 'probe' | { accept: string } | { read: string } | 'logged'
/** `accepted`, `found`, `missing`, the code of an error, or the log messages. */
export type Answer = string

const logged: string[] = []
const note = (_: object, message: string) => void logged.push(message)
const store = await openStore({ url, dir: process.argv[2]!, log: { ...silent, error: note, info: note } })

async function answer(request: Request): Promise<Answer> {
  try {
    if (request === 'logged') return logged.join()
    if (request === 'probe') await store.probe()
    else if ('read' in request)
      return (await store.getRun(request.read)) && (await store.listRuns({}, { limit: 9 })) ? 'found' : 'missing'
    else
      await store.accept({
        at: Date.now(),
        request: newRequest({ id: request.accept, body: 'x'.repeat(5000) }),
        runs: [newRun({ id: request.accept })],
      })
    return 'accepted'
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error)
  }
}

process.on('message', (requests: Request[]) => {
  void Promise.all(requests.map(answer)).then((answers) => process.send?.(answers))
})
process.send?.('ready')
