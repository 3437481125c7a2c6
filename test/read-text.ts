// Reads a file that came with a message, as the gateway does.
import { readBytes } from '../core/kit/read-bytes.ts'
import type { Attachment } from '../core/plugin/plugin.ts'

/** The text of a small file that came with a message. */
export async function readText({ read }: Attachment, signal = new AbortController().signal): Promise<string> {
  if (!read) throw new Error('the file cannot be read')
  return (await readBytes(await read(signal), 1_000_000, signal)).toString()
}
