// Finds imports of names that do not exist in compiled TypeScript. Node refuses them in JavaScript; compiled code reads
// `undefined`, and fails when it is used.
import { readFileSync } from 'node:fs'
import { builtinModules } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'
import type { Jiti } from 'jiti'

/** An import that the module does not export. */
export interface MissingImport {
  /** The importing file. */
  file: string
  module: string
  name: string
}

interface Compiled {
  loader: Jiti
  /** The modules that compiled code gets by these names. */
  own: Readonly<Record<string, object>>
}

/**
 * Follows the imports of a module that was imported. Modules of packages are not examined. A module that is imported as
 * a whole may be searched for a name, so that is no missing import, and neither is a type that is only exported again.
 */
export function findMissingImport(entry: string, { loader, own }: Compiled): MissingImport | undefined {
  const files = [entry]
  for (const file of files) {
    for (const { module, names } of importsOf(file, loader)) {
      const path = module.startsWith('.') ? pathOf(loader, module, file) : undefined
      const exported =
        own[module] ?? exportsOf(module) ?? (path === undefined ? undefined : loader.cache[path]?.exports)
      const name = isObject(exported) ? names.find((one) => !(one in exported)) : undefined
      if (name !== undefined) return { file, module, name }
      if (path !== undefined && isTypeScript(path) && !files.includes(path)) files.push(path)
    }
  }
  return undefined
}

export const isTypeScript = (file: string): boolean => /\.[cm]?tsx?$/.test(file)

interface Imports {
  module: string
  names: string[]
}

/**
 * `var _plugin = await jitiImport("svc-gateway/plugin")`, and then `_plugin.defineTool`. Without names, a module is imported
 * only by its path.
 */
function importsOf(file: string, loader: Jiti): Imports[] {
  // The cache of the loader has it.
  const code = loader.transform({ filename: file, source: readFileSync(file, 'utf8'), ts: true, async: true })
  const imports = code.matchAll(/(?:\bvar (_\w+) = (?:_interop\w+\()?)?\b(?:await jitiImport|require)\("([^"\n]+)"\)/g)
  const used = code.replaceAll(/get: function \(\) \{\s*return _\w+\.\w+;/g, '')
  return Array.from(imports, ([, variable, module = '']) => ({ module, names: namesOf(variable, used) }))
}

function namesOf(variable: string | undefined, code: string): string[] {
  if (variable === undefined) return []
  const names = code.matchAll(new RegExp(`(?<![\\w$.])${variable}\\.([\\w$]+)`, 'g'))
  return Array.from(names, ([, name = '']) => name).filter((name) => name !== 'default')
}

function pathOf(loader: Jiti, module: string, file: string): string | undefined {
  const url = loader.esmResolve(module, { parentURL: pathToFileURL(file).href, try: true })
  return url?.startsWith('file:') ? fileURLToPath(url) : undefined
}

const exportsOf = (module: string): unknown =>
  module.startsWith('node:') || builtinModules.includes(module) ? process.getBuiltinModule(module) : undefined

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' && value !== null) || typeof value === 'function'
