// Imports a module in a process of its own, and reports what that does besides declaring.
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { examinePlugin } from '../../core/cli/plugin/examine-plugin.ts'

/** The file of the command line, in the installed package. */
export const findProgram = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('svc-gateway/package.json')), 'dist', 'main.js')

/** @returns a sentence for each side effect, as `svc-gateway plugin check` prints it */
export async function importAlone(url: URL): Promise<string[]> {
  const { findings } = await examinePlugin(fileURLToPath(url), findProgram())
  return findings.flatMap(({ extension, sentence }) => (extension === undefined ? [sentence] : []))
}
