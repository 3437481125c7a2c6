// Reads the files of the folder plugins/templates of the package, which commands copy or print.
import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join, relative } from 'node:path'

/** @param path in the folder, such as `transform/payload.json` */
export const readTemplate = (path: string): string => readFileSync(join(templatesFolder(), path), 'utf8')

/** The paths of all files in a folder of templates, relative to it. */
export function listTemplates(folder: string): string[] {
  const root = join(templatesFolder(), folder)
  return readdirSync(root, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(root, join(entry.parentPath, entry.name)))
    .toSorted()
}

const templatesFolder = (): string =>
  join(dirname(createRequire(import.meta.url).resolve('svc-gateway/package.json')), 'plugins', 'templates')
