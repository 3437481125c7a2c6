// Creates the directory of an SQLite store.
import { mkdirSync } from 'node:fs'
import { GatewayError } from '../../errors.ts'

export function createDirectory(directory: string): void {
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    const sentence =
      `The directory ${directory} of the store cannot be created (${code}); ` +
      "give the gateway's user write access, or choose another storage.url."
    throw new GatewayError('store_unavailable', sentence, { cause })
  }
}
