// Makes transforms of openclaw usable: copies them, and adds a file for each that calls it as openclaw does and returns
// what this gateway expects. Nothing is written before the import is confirmed.
import {
  constants,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join, normalize, relative, sep } from 'node:path'
import { isRecord } from './carry-over.ts'

export interface Transforms {
  /** @returns the module of the new file, or `undefined` if there is no such transform */
  wrap(transform: unknown): string | undefined
  /** The folder to copy, if a mapping uses one of its files. */
  readonly source: string | undefined
  write(): void
}

interface Folders {
  /** The folder of the configuration of openclaw. */
  root: string
  /** The folder of its transforms, relative to that. */
  from: string
  to: string
}

const isCode = (name: string): boolean => /\.(?:[cm]?[jt]s|json)$/.test(name)

export function createTransforms({ root, from, to }: Folders): Transforms {
  const source = findFolder(root, from)
  const files = source === undefined ? [] : listFiles(source)
  const wrappers = new Map<string, string>()

  /** Several mappings may use functions of one module. */
  function freeName(base: string, count = 1): string {
    const name = `openclaw-${base}${count === 1 ? '' : `-${count}`}.js`
    return wrappers.has(name) || existsSync(join(to, name)) ? freeName(base, count + 1) : name
  }

  return {
    wrap: (transform) => {
      if (!isRecord(transform) || typeof transform['module'] !== 'string') return undefined
      const { module, export: name } = transform
      if (!files.includes(normalize(module))) return undefined
      const wrapper = freeName(basename(module).replace(/\.[^.]*$/, ''))
      wrappers.set(wrapper, wrapperText(module, typeof name === 'string' ? name : undefined))
      return wrapper
    },
    get source() {
      return wrappers.size > 0 ? source : undefined
    },
    write: () => {
      if (source === undefined || wrappers.size === 0) return
      for (const file of files) copyNew(join(source, file), join(to, file))
      for (const [name, text] of wrappers) writeFileSync(join(to, name), text, { mode: 0o600, flag: 'wx' })
    },
  }
}

/** Only a folder inside that of openclaw: its configuration may be from somebody else. */
function findFolder(root: string, from: string): string | undefined {
  const path = join(root, from)
  if (!existsSync(path) || !statSync(path).isDirectory()) return undefined
  // With links resolved.
  return realpathSync(path).startsWith(realpathSync(root) + sep) ? path : undefined
}

/** The code below a folder, without what links lead to. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && isCode(entry.name))
    .map(({ parentPath, name }) => relative(folder, join(parentPath, name)))

function copyNew(from: string, to: string): void {
  mkdirSync(dirname(to), { recursive: true, mode: 0o700 })
  try {
    copyFileSync(from, to, constants.COPYFILE_EXCL)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

const functionOf = (name: string | undefined): string =>
  name === undefined ? 'original.default ?? original.transform' : `original[${JSON.stringify(name)}]`

const wrapperText = (module: string, name: string | undefined): string =>
  [
    '// Calls a transform of openclaw, and returns what svc-gateway expects.',
    `import * as original from ${JSON.stringify(`./${module}`)}`,
    '',
    `const transform = ${functionOf(name)}`,
    '',
    'export default async ({ payload, headers, query, path }) => {',
    '  const url = { pathname: `/hooks/${path}`, searchParams: { get: (key) => query[key] ?? null } }',
    '  const result = await transform({ payload, headers, url, path })',
    "  if (!result || typeof result !== 'object') return result",
    '  const { kind, mode, sessionKeySource, ...action } = result',
    '  return { ...action, ...(kind && { action: kind }), ...(mode && { wakeMode: mode }) }',
    '}',
    '',
  ].join('\n')
