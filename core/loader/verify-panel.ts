// Checks the declaration of a panel, and that its folder has the file that the page shows.
import { statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { fieldsOf } from '../kit/shapes.ts'

/** @returns what is wrong, as the end of a sentence. `withFiles` looks into the folder, too. */
export function panelFault(panel: unknown, withFiles: boolean): string | undefined {
  const { title, folder, reads = [] } = fieldsOf(panel)
  if (typeof title !== 'string' || title.trim() === '' || title.length > 40)
    return '`panel.title` must be a text of at most 40 characters'
  if (!isFolder(folder)) return "`panel.folder` must be the address of a folder: new URL('./panel/', import.meta.url)"
  if (!Array.isArray(reads) || !reads.every(isRoute))
    return '`panel.reads` must be a list of routes of the API, such as "/api/runs" or "/runs/{id}"'
  const isMissing = withFiles && !statSync(new URL('index.html', folder), { throwIfNoEntry: false })?.isFile()
  return isMissing ? `its panel has no index.html in ${fileURLToPath(folder)}` : undefined
}

const isFolder = (folder: unknown): folder is URL =>
  folder instanceof URL && folder.protocol === 'file:' && folder.pathname.endsWith('/')

const isRoute = (route: unknown): boolean =>
  typeof route === 'string' && /^\/(?:api|runs|tools)(?:\/(?:[a-z-]+|\{[a-z]+\}))*$/i.test(route)
