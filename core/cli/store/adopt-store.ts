// Makes the new store that of the gateway: writes `storage.url`, or says what to write.
import { mergeIntoText } from '../../config/file/edit-text.ts'
import { type ConfigDocument, readConfigFile } from '../../config/file/read.ts'
import { writePrivateFile } from '../../config/file/write.ts'
import { isRecord } from '../../config/walk.ts'
import type { Addresses } from './addresses.ts'

interface AdoptOptions {
  writeConfig?: boolean
  json?: boolean
  /** The location of the old store. */
  old: string
}

/** Notices go to standard error. */
export function adoptStore({ document, to, written }: Addresses, { writeConfig, json, old }: AdoptOptions): void {
  const limit = to.engine === 'postgres' && document && hasSizeLimit(document)
  if (document && writeConfig) {
    const url = { url: written, ...(limit && { retention: { maxMb: null } }) }
    const text = mergeIntoText(readConfigFile(document.file).text, { storage: url })
    writePrivateFile(document.file, text, { overwrite: true })
  }
  if (json) return
  const lines = [
    `The copy is complete. The old store is unchanged: ${old}`,
    writeConfig ? `storage.url in ${document?.file} is the new store now. Start the gateway.` : describeChange(written),
    ...(limit ? [`storage.retention.maxMb ${writeConfig ? 'was removed' : 'must be removed'}: it is for SQLite.`] : []),
  ]
  process.stderr.write(`${lines.join('\n')}\n`)
}

const hasSizeLimit = ({ value: { storage } }: ConfigDocument): boolean =>
  isRecord(storage) && isRecord(storage['retention']) && storage['retention']['maxMb'] !== undefined

const describeChange = (written: unknown): string =>
  'Change the configuration, and start the gateway:\n' +
  mergeIntoText('{}', { storage: { url: hidePassword(written) } })

function hidePassword(written: unknown): unknown {
  if (typeof written !== 'string') return written
  return written
    .replace(/^(\w+:\/\/[^:@/?#]*:).*@/, '$1<password>@')
    .replaceAll(/([?&](?:ssl)?password=)[^&]*/g, '$1<password>')
}
