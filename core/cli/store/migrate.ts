// The command `store migrate`: copies the store to another engine, compares both, and says how to use the new one.
import JSON5 from 'json5'
import { ConfigError } from '../../config/config-error.ts'
import { mergeIntoText } from '../../config/file/edit-text.ts'
import { locateConfig, readLocatedConfig } from '../../config/file/locate.ts'
import { type ConfigDocument, readConfigFile } from '../../config/file/read.ts'
import { readStorageUrl, resolveStorageUrl } from '../../config/file/storage-url.ts'
import { writePrivateFile } from '../../config/file/write.ts'
import { isRecord } from '../../config/walk.ts'
import type { CommandContext, ProgressSteps } from '../../plugin/command.ts'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import {
  type ComparedTable,
  type CopyAddresses,
  type CopyPreview,
  type CopyProgress,
  type CopyResult,
  copyStore,
  previewCopy,
} from '../../store/copy/copy-store.ts'
import { parseStoreUrl, type StoreAddress } from '../../store/store-url.ts'
import { createProgressView, formatCount } from '../progress.ts'
import { printJson, printList } from '../terminal.ts'

interface MigrateOptions extends AddressOptions {
  dryRun?: boolean
  restart?: boolean
  writeConfig?: boolean
  json?: boolean
}

export async function migrateStore(options: MigrateOptions, { signal }: CommandContext): Promise<void> {
  process.umask(0o077)
  const addresses = readAddresses(options)
  if (options.writeConfig && !addresses.document)
    throw new CommandError('--write-config needs a configuration file; name it with --config.')
  if (options.dryRun) return await printPreview(await previewCopy(addresses), options)
  const result = await copy(addresses, { ...options, signal })
  await printResult(result, options)
  assertEqual(result)
  adoptStore(addresses, { ...options, old: result.from })
}

const steps: ProgressSteps<CopyProgress['step']> = {
  copy: { title: 'Copying', unit: 'rows' },
  compare: { title: 'Comparing', unit: 'rows' },
}

async function copy({ from, to }: Addresses, options: MigrateOptions & { signal: AbortSignal }): Promise<CopyResult> {
  const { restart = false, json, signal } = options
  const view = createProgressView(steps, { json })
  try {
    return await copyStore({ from, to, restart, report: view.report, signal })
  } catch (error) {
    if (!signal.aborted) throw error
    const text = 'The copy was interrupted. Run the same command again to continue it.'
    throw new CommandError(text, exitCodes.interrupted)
  } finally {
    view.end()
  }
}

function assertEqual({ to, tables }: CopyResult): void {
  const different = tables.filter(({ isEqual }) => !isEqual).map(({ name }) => name)
  if (different.length === 0) return
  throw new CommandError(
    `The copy differs from the source in ${different.join(', ')}: something has written to one of the stores since ` +
      `the copy began. No gateway starts on ${to}. Run the command again with --restart.`,
  )
}

async function printPreview(preview: CopyPreview, { json }: { json?: boolean | undefined }): Promise<void> {
  if (json) return printJson({ type: 'preview', ...preview })
  await printList(preview.tables, {
    noun: 'tables',
    columns: { TABLE: ({ name }) => name, ROWS: ({ rows }) => formatCount(rows) },
  })
  process.stdout.write(`${describeTarget(preview)}\n`)
}

function describeTarget({ from, tables, to }: CopyPreview): string {
  const total = tables.reduce((sum, { rows }) => sum + rows, 0)
  if (!to || (to.rows === 0 && to.copyOf === undefined))
    return `Would copy ${countRows(total)} of ${from}. The new store is empty. Nothing was copied.`
  return to.copyOf === undefined
    ? `${to.location} already holds ${countRows(to.rows)}; --to must be an empty database or a new file.`
    : `${to.location} holds ${countRows(to.rows)} of an unfinished copy of ${to.copyOf}. Nothing was copied.`
}

async function printResult({ tables, from, to }: CopyResult, { json }: { json?: boolean | undefined }) {
  if (json) {
    for (const table of tables) printJson({ type: 'table', ...table })
    return printJson({ type: 'result', from, to, isEqual: tables.every(({ isEqual }) => isEqual) })
  }
  await printList(tables, {
    noun: 'tables',
    columns: {
      TABLE: ({ name }) => name,
      ROWS: (table) => formatCount(table.from.rows),
      CHECKSUM: (table) => table.from.checksum,
      COPY: (table) => (table.isEqual ? 'equal' : describeDifference(table)),
    },
  })
}

const describeDifference = ({ to }: ComparedTable): string => `differs: ${countRows(to.rows)}, ${to.checksum}`

const countRows = (count: number): string => `${formatCount(count)} row${count === 1 ? '' : 's'}`

interface AdoptOptions {
  writeConfig?: boolean
  json?: boolean
  /** The location of the old store. */
  old: string
}

/** Notices go to standard error. */
function adoptStore({ document, to, written }: Addresses, { writeConfig, json, old }: AdoptOptions): void {
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

interface AddressOptions {
  to: string
  from?: string
  config?: string
}

interface Addresses extends CopyAddresses {
  /** The new store as `storage.url` has to be written. */
  written: unknown
  /** The configuration that `storage.url` is from. Undefined: there is none. */
  document: ConfigDocument | undefined
}

function readAddresses({ to, from, config }: AddressOptions): Addresses {
  const isNeeded = from === undefined || config !== undefined
  const document = isNeeded || locateConfig({ option: config }) !== undefined ? readLocatedConfig(config) : undefined
  const dir = document?.dir ?? process.cwd()
  const written = parseWritten(to, '--to')
  return {
    from:
      from === undefined
        ? parseStoreUrl(readStorageUrl(document as ConfigDocument), { dir })
        : resolveOption(parseWritten(from, '--from'), { name: '--from', dir }),
    to: resolveOption(written, { name: '--to', dir }),
    written,
    document,
  }
}

/** A URL, or an object as in the configuration. */
function parseWritten(text: string, name: string): unknown {
  if (!text.trimStart().startsWith('{')) return text
  try {
    return JSON5.parse<unknown>(text)
  } catch {
    throw new CommandError(`${name} must be a URL, or an object such as { file: "secrets/database-url" }.`)
  }
}

function resolveOption(written: unknown, { name, dir }: { name: string; dir: string }): StoreAddress {
  try {
    return parseStoreUrl(resolveStorageUrl(written, { dir, env: process.env }), { dir, name })
  } catch (error) {
    if (error instanceof ConfigError) throw new CommandError(`${name} ${error.problems[0]?.problem ?? 'is invalid'}.`)
    throw error
  }
}
