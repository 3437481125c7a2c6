// A process of its own that does to a store what its parent asks for: something whose disk can be filled.
import { GatewayError } from '../../core/errors.ts'
import { openStore } from '../../core/store/open.ts'
import { newDelivery, newRun } from '../contracts/store-samples.ts'
import { silent, url } from './acknowledging.ts'

export type Request = 'probe' | { accept: string }
/** `accepted`, or the code of the error. */
export type Answer = string

const store = await openStore({ url, dir: process.argv[2]!, log: silent })

async function answer(request: Request): Promise<Answer> {
  try {
    if (request === 'probe') await store.probe()
    else await store.accept({ at: Date.now(), delivery: newDelivery({ id: request.accept, body: 'x'.repeat(5000) }), runs: [newRun({ id: request.accept })] })
    return 'accepted'
  } catch (error) {
    return error instanceof GatewayError ? error.code : String(error)
  }
}

process.on('message', (request: Request) => {
  void answer(request).then((text) => process.send?.(text))
})
process.send?.('ready')
