// Merges a section that a command has worked out into the configuration file, and preserves the rest of the file.
import type { ConfigurableExtensions } from '../schema/schema.ts'
import { resolveConfig } from '../resolve.ts'
import { addToListInText, mergeIntoText, removeFromText } from './edit-text.ts'
import { type ConfigDocument, readConfigText } from './read.ts'
import { writePrivateFile } from './write.ts'

/** @throws {ConfigError} and writes nothing if the result is not valid. */
export function mergeIntoFile(
  document: ConfigDocument,
  changes: Readonly<Record<string, unknown>>,
  extensions: ConfigurableExtensions,
): void {
  writeChecked(document, mergeIntoText(document.text, changes), extensions)
}

/** A change of one list of the file. */
export type ListChange = { keys: readonly string[] } & ({ add: unknown } | { removeAt: number })

/** @throws {ConfigError} and writes nothing if the result is not valid. */
export function changeListInFile(
  document: ConfigDocument,
  { keys, ...change }: ListChange,
  extensions: ConfigurableExtensions,
): void {
  const text =
    'add' in change
      ? addToListInText(document.text, keys, change.add)
      : removeFromText(document.text, [...keys, String(change.removeAt)])
  writeChecked(document, text, extensions)
}

function writeChecked(document: ConfigDocument, text: string, extensions: ConfigurableExtensions): void {
  const after = readConfigText({ ...document, text })
  resolveConfig(after, extensions)
  if (after.text !== document.text) writePrivateFile(document.file, after.text, { overwrite: true })
}
