// What a command may do with the configuration file: locate, read, change, create and check it.
import JSON5 from 'json5'
import { writeFirstText } from '../config/file/first-run.ts'
import { firstConfigFile, locateConfig, readLocatedConfig } from '../config/file/locate.ts'
import { changeListInFile, type ListChange, mergeIntoFile } from '../config/file/merge.ts'
import { findScheme } from '../config/schemes.ts'
import { loadBuiltins, loadExtensions } from '../loader/registry.ts'
import type { Configuration } from '../plugin/command.ts'
import { findProblems } from './check/check.ts'
import { setUpPreset } from './preset-setup.ts'

/** @param option the value of `--config` */
export function createConfiguration(option: string | undefined): Configuration {
  const newFile = firstConfigFile({ option })
  const changeList = async (change: ListChange): Promise<void> => {
    const document = readLocatedConfig(option)
    using extensions = await loadExtensions(document)
    changeListInFile(document, change, extensions)
  }
  return {
    locate: () => locateConfig({ option }),
    newFile,
    read: () => JSON5.parse<Record<string, unknown>>(readLocatedConfig(option).text),
    merge: async (changes) => {
      const document = readLocatedConfig(option)
      using extensions = await loadExtensions(document)
      mergeIntoFile(document, changes, extensions)
    },
    addToList: (path, item) => changeList({ keys: path.split('.'), add: item }),
    removeFromList: (path, index) => changeList({ keys: path.split('.'), removeAt: index }),
    create: (text, { replace = false } = {}) => writeFirstText(newFile, text, { force: replace }),
    check: findProblems,
    listNames: async (kind) => {
      const extensions = await loadBuiltins()
      return [...extensions.sources.keys()].flatMap((one) => (one.kind === kind ? [one.name] : []))
    },
    findScheme: async (headers) => findScheme(headers, (await loadBuiltins()).schemes),
    setUpPreset: (name, answers, report) => setUpPreset(readLocatedConfig(option), { name, answers, report }),
  }
}
