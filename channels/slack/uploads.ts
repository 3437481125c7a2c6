// Keeps which file was uploaded for which message, so that a lost answer can be cleared up, also after a crash.
import { createSerialQueue } from 'svc-gateway/kit'
import type { ExtensionState } from 'svc-gateway/plugin'

const name = 'uploads'
/** Far more than can have an unknown result at the same time. */
const longest = 200

export function createUploads(state: ExtensionState) {
  /** One write after the other, so that none is lost. */
  const writes = createSerialQueue()

  async function read(): Promise<[key: string, file: string][]> {
    return ((await state.get(name)) ?? []) as [string, string][]
  }

  return {
    add: (key: string, file: string): Promise<void> =>
      writes.add(async () => await state.set(name, [...(await read()), [key, file]].slice(-longest))),
    /** The most recent upload for this message. */
    async find(key: string): Promise<string | undefined> {
      return (await read()).findLast(([known]) => known === key)?.[1]
    },
  }
}
