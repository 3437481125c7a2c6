// Merges a section that a command has worked out into the configuration file, and preserves the rest of the file.
import type { ConfigurableExtensions } from '../schema/schema.ts'
import { resolveConfig } from '../resolve.ts'
import { mergeIntoText } from './edit-text.ts'
import { type ConfigDocument, readConfigText } from './read.ts'
import { writePrivateFile } from './write.ts'

/** @throws {ConfigError} and writes nothing if the result is not valid. */
export function mergeIntoFile(
  document: ConfigDocument,
  changes: Readonly<Record<string, unknown>>,
  extensions: ConfigurableExtensions,
): void {
  const after = readConfigText({ ...document, text: mergeIntoText(document.text, changes) })
  resolveConfig(after, extensions)
  if (after.text !== document.text) writePrivateFile(document.file, after.text, { overwrite: true })
}
