// What a command may do with the configuration file: locate, read, change, create and check it.
import JSON5 from 'json5'
import { ConfigError } from '../config/config-error.ts'
import { firstConfigFile, locateConfig, readLocatedConfig } from '../config/file/locate.ts'
import { mergeIntoFile } from '../config/file/merge.ts'
import { writePrivateFile } from '../config/file/write.ts'
import { findScheme } from '../config/schemes.ts'
import { loadBuiltins, loadExtensions } from '../loader/registry.ts'
import type { Configuration } from '../plugin/command.ts'
import { findProblems } from './check/check.ts'
import { setUpPreset } from './preset-setup.ts'

/** @param option the value of `--config` */
export function createConfiguration(option: string | undefined): Configuration {
  const newFile = firstConfigFile({ option })
  return {
    locate: () => locateConfig({ option }),
    newFile,
    read: () => JSON5.parse<Record<string, unknown>>(readLocatedConfig(option).text),
    merge: async (changes) => {
      const document = readLocatedConfig(option)
      using extensions = await loadExtensions(document)
      mergeIntoFile(document, changes, extensions)
    },
    create: (text, { replace = false } = {}) => {
      try {
        writePrivateFile(newFile, text, { overwrite: replace })
      } catch (error) {
        const { code } = error as NodeJS.ErrnoException
        const problem = code === 'EEXIST' ? 'already exists; use --force to replace it' : `cannot be written (${code})`
        throw new ConfigError(newFile, [{ path: '', problem }])
      }
    },
    check: findProblems,
    listNames: async (kind) => {
      const extensions = await loadBuiltins()
      return [...extensions.sources.keys()].flatMap((one) => (one.kind === kind ? [one.name] : []))
    },
    findScheme: async (headers) => findScheme(headers, (await loadBuiltins()).schemes),
    setUpPreset: (name, answers, report) => setUpPreset(readLocatedConfig(option), { name, answers, report }),
  }
}
