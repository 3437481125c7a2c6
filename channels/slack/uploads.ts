// Keeps which file was uploaded for which message, so that a lost answer can be cleared up, also after a crash.
import type { ExtensionState } from 'svc-gateway/plugin'

const name = 'uploads'
/** Far more than can have an unknown result at the same time. */
const longest = 200

export function createUploads(state: ExtensionState) {
  let last: Promise<unknown> = Promise.resolve()

  async function read(): Promise<[key: string, file: string][]> {
    return ((await state.get(name)) ?? []) as [string, string][]
  }

  return {
    /** One write after the other, so that none is lost. */
    add(key: string, file: string): Promise<void> {
      const added = last.then(async () => await state.set(name, [...(await read()), [key, file]].slice(-longest)))
      last = added.catch(() => undefined)
      return added
    },
    /** The most recent upload for this message. */
    async find(key: string): Promise<string | undefined> {
      return (await read()).findLast(([known]) => known === key)?.[1]
    },
  }
}
