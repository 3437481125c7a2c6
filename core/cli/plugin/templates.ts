// Reads the templates of a kind of plugin, plugins/templates/<kind> of the package, and puts the names in.
import { join } from 'node:path'
import { listTemplates, readTemplate } from '../read-template.ts'

/** `name` is that of the extension. */
export interface PluginNames {
  name: string
  packageName: string
}

/** @returns the texts of the files, by their paths in the new package */
export function readTemplates(kind: string, names: PluginNames): [string, string][] {
  const read = (path: string): string => fillIn(readTemplate(path), names)
  const own = listTemplates(kind).filter((path) => path !== 'README.md')
  return [
    ['README.md', read(join(kind, 'README.md')) + read('developing.md')],
    ['tsconfig.json', read('tsconfig.json')],
    // npm leaves out files with the name .gitignore when it packs.
    ['.gitignore', read('gitignore')],
    ...own.map((path): [string, string] => [path, read(join(kind, path))]),
  ]
}

/** The templates are code that runs, so the name has a spelling for each place: `plugin-name`, `plugin_name` … */
function fillIn(text: string, { name, packageName }: PluginNames): string {
  const words = name.split('-').filter(Boolean)
  const title = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join(' ')
  const spellings: Readonly<Record<string, string>> = {
    PACKAGE: packageName,
    'plugin-name': name,
    plugin_name: words.join('_'),
    'Plugin Name': title,
    PLUGIN_NAME: words.join('_').toUpperCase(),
  }
  return text.replaceAll(/PACKAGE|plugin-name|plugin_name|Plugin Name|PLUGIN_NAME/g, (found) => spellings[found] ?? '')
}
