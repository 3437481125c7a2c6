// Checks the store without opening it for work: its tables, its place and its size.
import { inspectStore, type StoreReport } from '../../store/inspect.ts'
import { newestVersion } from '../../store/migrations/migrations.ts'
import { identifyStore } from '../../store/sqlite/store-files.ts'
import { storeFileOf } from '../../store/store-url.ts'
import { readListening } from '../listening.ts'
import { networkTypeOf, readFileSystem } from './disk.ts'
import { type Finding, type FindingId, type Outcome, splitFix } from './finding.ts'
import { limitMs } from './gateway/state.ts'
import { withConfig } from './subject.ts'

export const checkStore = withConfig(async ({ resolved: { config, dir } }, { options }) => {
  const { url } = config.storage
  if (options.offline && storeFileOf(url, dir) === undefined) return { skipped: '--offline was given' }
  return describeReport(await inspectStore({ url, dir, limitMs }))
})

/** A running gateway does not notice what happens to its files before it writes the next time. */
export const checkStoreFile = withConfig(({ resolved: { config, dir } }, { file: configFile }) => {
  const file = storeFileOf(config.storage.url, dir)
  const opened = readListening(configFile)?.store
  if (file === undefined || opened === undefined) return { skipped: 'no gateway has an SQLite store open' }
  return identifyStore(file)[0] === opened ? [] : [replacedStore(file)]
})

export const checkStoreDisk = withConfig(({ resolved: { config, dir } }) => {
  const file = storeFileOf(config.storage.url, dir)
  if (file === undefined) return { skipped: 'the store is a PostgreSQL database' }
  const fileSystem = readFileSystem(file)
  const type = fileSystem && networkTypeOf(fileSystem)
  return type === undefined ? [] : [networkStore(file, type)]
})

/** 10 GiB. A store with the default retention stays far below it. */
const largeBytes = 10 * 1024 ** 3

export const checkStoreSize = withConfig(async ({ resolved: { config, dir } }) => {
  const { url, retention } = config.storage
  if (storeFileOf(url, dir) === undefined) return { skipped: 'the store is a PostgreSQL database' }
  const report = await inspectStore({ url, dir, limitMs })
  if (report.state !== 'readable') return { skipped: 'there is no store that can be read' }
  return retention.maxMb === 0 && report.bytes > largeBytes ? [largeStore(report.bytes)] : []
})

function describeReport(report: StoreReport): Outcome {
  switch (report.state) {
    case 'absent':
      return { skipped: 'there is no store yet' }
    case 'readable':
      if (report.version > newestVersion) return [newerStore(report.version)]
      if (report.writeObstacle !== undefined) return [readOnlyStore(report.writeObstacle)]
      return report.riskySettings.length > 0 ? [riskyStore(report.riskySettings)] : []
    case 'refused':
      return [
        brokenStore(
          'database_refused',
          report.reason,
          'Correct the user, the password or the database in storage.url.',
        ),
      ]
    case 'unreachable':
      return [
        brokenStore('database_unreachable', report.reason, 'Start the database, or correct the host in storage.url.'),
      ]
    case 'unusable':
      return [brokenStore('database_unusable', report.reason, 'Correct storage.url, or what the message names.')]
    default:
      return report satisfies never
  }
}

const brokenStore = (id: FindingId, reason: string, fix: string): Finding => ({
  id,
  severity: 'error',
  where: 'storage.url',
  ...splitFix(reason, fix),
})

const readOnlyStore = (obstacle: string): Finding => ({
  id: 'database_read_only',
  severity: 'error',
  where: 'storage.url',
  ...splitFix(`The store can be read, but not written: ${obstacle}`, 'Correct storage.url.'),
})

const newerStore = (version: number): Finding => ({
  id: 'database_newer',
  severity: 'error',
  where: 'storage.url',
  problem:
    `A newer svc-gateway has written the store: its tables have version ${version}, and this one knows them up to ` +
    `version ${newestVersion}.`,
  fix: 'Install the newer version, or restore the copy that was made before its migration.',
})

export const networkStore = (file: string, type: string): Finding => ({
  id: 'database_on_network',
  severity: 'error',
  where: 'storage.url',
  problem: `The store ${file} is on a network file system (${type}), where SQLite can lose or damage data.`,
  fix: 'Set storage.url to a file on a local disk, or to a PostgreSQL database.',
})

const riskyStore = (settings: readonly string[]): Finding => ({
  id: 'database_risky',
  severity: 'warning',
  where: 'storage.url',
  problem: `The database may lose what it has committed, because of its settings: ${settings.join(', ')}.`,
  fix: 'Turn on fsync and full_page_writes, and name the standby in synchronous_standby_names.',
})

const replacedStore = (file: string): Finding => ({
  id: 'database_replaced',
  severity: 'error',
  where: 'storage.url',
  problem: `The store ${file} was moved, deleted or replaced while the gateway was running, which accepts nothing now.`,
  fix: 'Move the file back, or stop the gateway and restore a backup.',
})

const largeStore = (bytes: number): Finding => ({
  id: 'database_large',
  severity: 'warning',
  where: 'storage.retention',
  problem: `The store has ${Math.round(bytes / 1024 ** 3)} GiB and no limit.`,
  fix: 'Set storage.retention.maxMb, or reduce storage.retention.days or storage.retention.bodyHours.',
})
