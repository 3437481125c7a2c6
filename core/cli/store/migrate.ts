// The command `store migrate`: copies the store to another engine, compares both, and says how to use the new one.
import { type CopyProgress, type CopyResult, copyStore, previewCopy } from '../../store/copy/copy-store.ts'
import { CommandError, exitCodes } from '../../plugin/errors.ts'
import type { CommandContext, ProgressSteps } from '../../plugin/command.ts'
import { createProgressView } from '../progress.ts'
import { type AddressOptions, type Addresses, readAddresses } from './addresses.ts'
import { adoptStore } from './adopt-store.ts'
import { printPreview, printResult } from './result.ts'

export interface MigrateOptions extends AddressOptions {
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
