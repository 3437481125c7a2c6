// Reads the code of a child as one text: the built file, or a bundle of the sources when they run directly.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'

export async function readRunner(): Promise<string> {
  if (extname(import.meta.filename) === '.js') return readFile(new URL('./runner.js', import.meta.url), 'utf8')
  // A module is evaluated once in a process, so the sources are bundled once, too.
  return (await import('./runner-bundle.ts')).code
}
