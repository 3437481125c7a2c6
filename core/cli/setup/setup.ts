// The command `setup`: asks what a first configuration needs, or reads it from its options, tries it and writes it.
import { existsSync } from 'node:fs'
import { homedir } from 'node:os'
import { dirname, resolve } from 'node:path'
import { alreadyExists } from '../../config/file/first-run.ts'
import { firstConfigFile } from '../../config/file/locate.ts'
import { findLocalServers } from '../../config/local-servers.ts'
import { loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../command-error.ts'
import { tryAll } from './attempts.ts'
import { type Changes, type SetupContext, type SetupOptions, silent } from './context.ts'
import { createDraft } from './draft.ts'
import { readOptions } from './option-answers.ts'
import { type Outcome, printReport } from './report.ts'
import { readPlugins } from './set-option.ts'
import { writeDraft } from './write-draft.ts'

export async function setup(options: SetupOptions): Promise<void> {
  const { config, force = false } = options
  const file = config ? resolve(config) : firstConfigFile({ cwd: process.cwd(), home: homedir() })
  if (existsSync(file) && !force) throw alreadyExists(file)
  const localServers = findLocalServers()
  const extensions = await loadExtensions({ plugins: readPlugins(options.set), dir: dirname(file), log: silent })
  try {
    const [problem] = extensions.problems
    if (problem !== undefined) throw new CommandError(`${problem} Nothing was written.`)
    const context = { file, extensions, localServers: await localServers, env: process.env }
    const outcome = await answer(readOptions(options, context), { options, context })
    const kept = writeDraft(file, outcome.draft.text, force)
    printReport({ ...outcome, kept }, context, options)
  } finally {
    extensions.close()
  }
}

interface Setting {
  options: SetupOptions
  context: SetupContext
}

/** Asks only a person: in a terminal, unless the options say otherwise. */
async function answer(given: Changes, { options, context }: Setting): Promise<Outcome> {
  const { yes = false, json = false, test } = options
  if (process.stdin.isTTY && process.stdout.isTTY && !yes && !json)
    return await (await import('./wizard/wizard.ts')).runWizard(given, { context, test })
  const draft = await createDraft(given, context)
  return { draft, attempts: test ? await tryAll(given, draft, context) : { channels: [] } }
}
