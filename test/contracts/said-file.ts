// Files that somebody sends in the channel contract.
import { Readable } from 'node:stream'

/** A file that somebody sends. */
export interface SaidFile {
  name: string
  type: string
  /** What the platform says about its size, if it says anything. */
  size: number
  /** What a download gives. There may be more than `size` says, and it may break off: serve it with
   * `pipeline` of `node:stream`, which passes that on. */
  content(): Readable
}

const chunk = Buffer.alloc(48 * 1024, 'x')

interface FileOptions {
  bytes: number
  name?: string
  breaksOff?: boolean
}

/** A file of `bytes` bytes, of which the platform says that it has five, or whose download breaks off at its end. */
export function createFile({ bytes, name = 'plan.txt', breaksOff = false }: FileOptions) {
  const served = { bytes: 0 }
  function* generate() {
    for (; served.bytes < bytes; served.bytes += chunk.length) yield chunk.subarray(0, bytes - served.bytes)
    if (breaksOff) throw new Error('the download breaks off')
  }
  const file: SaidFile = { name, type: 'text/plain', size: 5, content: () => Readable.from(generate()) }
  return { file, served }
}
