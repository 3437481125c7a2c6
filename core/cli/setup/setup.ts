// The command `setup`: asks what a first configuration needs, or reads it from its options, tries it and writes it.
import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import { alreadyExists } from '../../config/file/first-run.ts'
import { firstConfigFile } from '../../config/file/locate.ts'
import { findLocalServers } from '../../config/local-servers.ts'
import { loadExtensions } from '../../loader/registry.ts'
import { CommandError } from '../../plugin/errors.ts'
import { tryAll } from './attempts.ts'
import { type Changes, type SetupContext, type SetupOptions } from './context.ts'
import { createDraft, writeDraft } from './draft.ts'
import { readOptions } from './option-answers.ts'
import { type Outcome, printReport } from './report.ts'
import { readPlugins } from './set-option.ts'

export async function setup(options: SetupOptions): Promise<void> {
  const { config, force = false } = options
  const file = firstConfigFile({ option: config })
  if (existsSync(file) && !force) throw alreadyExists(file)
  using extensions = await loadExtensions({ plugins: readPlugins(options.set), dir: dirname(file) })
  const [problem] = extensions.problems
  if (problem !== undefined) throw new CommandError(`${problem} Nothing was written.`)
  const localServers = await findLocalServers(extensions.providers)
  const context = { file, extensions, localServers, env: process.env, test: !options.noTest }
  const given = readOptions(options, context)
  const outcome = await (isInteractive(options) ? askQuestions(given, context) : useOptions(given, context))
  const kept = writeDraft(file, outcome.draft.text, force)
  printReport({ ...outcome, kept }, context, options)
}

/** Only a person is asked. */
const isInteractive = ({ yes = false, json = false }: SetupOptions): boolean =>
  process.stdin.isTTY && process.stdout.isTTY && !yes && !json

async function askQuestions(given: Changes, context: SetupContext): Promise<Outcome> {
  const { runWizard } = await import('./wizard/wizard.ts')
  return await runWizard(given, context)
}

async function useOptions(given: Changes, context: SetupContext): Promise<Outcome> {
  const draft = await createDraft(given, context)
  return { draft, attempts: context.test ? await tryAll(given, draft, context) : { channels: [] } }
}
