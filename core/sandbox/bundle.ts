// A transform's module and what it imports as one text. Nothing of it is executed, and every file is confined when it
// is named and when it is read.
import { dirname, extname, isAbsolute, relative, resolve } from 'node:path'
import { stripVTControlCharacters } from 'node:util'
import type { Plugin } from 'rolldown'
import { PathError } from '../config/file/paths.ts'
import { bundleName } from './runner/compartment.ts'
import type { TransformsDirectory } from './transforms-directory.ts'
import { TransformError } from './transform-error.ts'

export interface Bundle {
  code: string
  /** The source map, as JSON text. */
  map: string
}

interface BundleOptions {
  /** As it stands in the configuration: relative to the folder of the transforms. */
  module: string
  directory: TransformsDirectory
  /** Hears of every file that was named, those that are not there included. */
  onFile(path: string): void
}

/** @throws {TransformError} `missing` or `compile`, with what has to be mended */
export async function bundleTransform(options: BundleOptions): Promise<Bundle> {
  options.onFile(resolve(options.directory.dir, options.module))
  const { rolldown } = await loadBundler()
  const folder = attempt(() => options.directory.folder(), options.module)
  const bundle = await rolldown({
    input: options.module,
    cwd: folder,
    platform: 'neutral',
    logLevel: 'silent',
    tsconfig: false,
    plugins: [confined(folder, options)],
  })
  try {
    const { output } = await bundle.generate({
      format: 'iife',
      name: bundleName,
      exports: 'named',
      codeSplitting: false,
      sourcemap: 'hidden',
    })
    const [{ code, map }] = output
    if (code.length > maxBundleLength)
      throw new TransformError('compile', `The transform ${options.module} is too large.`)
    return { code, map: map?.toString() ?? '' }
  } catch (error) {
    throw toTransformError(error, options.module)
  } finally {
    await bundle.close()
  }
}

/** Its native part is an optional package, one for each kind of machine, which an installation may have left out. */
async function loadBundler() {
  try {
    return await import('rolldown')
  } catch (cause) {
    throw new TransformError(
      'compile',
      'Transforms need the part of the package "rolldown" for this machine; install without --omit=optional.',
      { cause },
    )
  }
}

const maxBundleLength = 4_194_304
const codeFile = /\.(?:[cm]?js|m?ts)$/
const importable = /\.(?:[cm]?js|m?ts|json)$/

/** Which modules there are: relative files inside the folder, `typebox`, and what the contract has for transforms. */
function confined(folder: string, { module, directory, onFile }: BundleOptions): Plugin {
  const isLibrary = (importer: string): boolean =>
    importer === contractId || !isAbsolute(importer) || relative(folder, importer).startsWith('..')

  function locate(path: string, allowed: RegExp): { id: string } {
    onFile(resolve(directory.dir, path))
    if (!allowed.test(path))
      throw new TransformError(
        'compile',
        `"${path}" cannot be part of a transform; files end in .ts, .mts, .js, .mjs or .cjs.`,
      )
    const id = attempt(() => directory.locate(path), path)
    onFile(id)
    return { id }
  }

  return {
    name: 'confined',
    async resolveId(specifier, importer) {
      if (importer === undefined) return locate(module, codeFile)
      if (specifier === 'typebox') return this.resolve(specifier, import.meta.filename, { skipSelf: true })
      // Inside typebox everything is resolved as usual.
      if (isLibrary(importer)) return null
      if (specifier === 'svc-gateway/plugin') return { id: contractId }
      if (/^\.\.?\//.test(specifier)) return locate(relative(folder, resolve(dirname(importer), specifier)), importable)
      throw new TransformError('compile', `${relative(folder, importer)} imports "${specifier}"; ${whatMayBeImported}`)
    },
    async load(id) {
      if (id === contractId) return { code: contract, moduleType: 'js' }
      if (isLibrary(id)) return null
      return { code: await directory.read(id), moduleType: moduleTypes[extname(id)] ?? 'js' }
    },
  }
}

const whatMayBeImported =
  'a transform may import files of the transforms directory (with "./" and the whole name), "typebox" and "svc-gateway/plugin", and nothing of Node.'
const moduleTypes: Record<string, 'ts' | 'json'> = { '.ts': 'ts', '.mts': 'ts', '.json': 'json' }

/**
 * The contract as transforms see it: its types are gone by then, and of its values only the builder of schemas makes
 * sense here.
 */
const contractId = '\0svc-gateway/plugin'
const contract = 'export { Type } from "typebox"'

/** Runs what may refuse a path, and says so as the fault of a transform. */
function attempt<Value>(look: () => Value, path: string): Value {
  try {
    return look()
  } catch (error) {
    if (!(error instanceof PathError)) throw error
    const sentence = error.missing
      ? `There is no ${path} in the transforms directory; write the whole name, with its ending.`
      : `${error.message}.`
    throw new TransformError(error.missing ? 'missing' : 'compile', sentence, { cause: error })
  }
}

interface BundlerProblem {
  message?: string
  loc?: { file?: string; line: number; column: number }
}

/**
 * The bundler reports a list; the first problem is told, in one line. It writes a code of its own into errors of ours,
 * so they are made anew.
 */
function toTransformError(error: unknown, module: string): TransformError {
  const [first = error as BundlerProblem] = (error as { errors?: BundlerProblem[] }).errors ?? []
  if (first instanceof TransformError) return new TransformError(first.fault, first.message, { cause: first.cause })
  if (first instanceof PathError) return new TransformError('compile', `${first.message}.`, { cause: first })
  const [line = ''] = stripVTControlCharacters(first.message ?? '').split('\n')
  const place = first.loc ? ` at line ${first.loc.line}, column ${first.loc.column}` : ''
  return new TransformError(
    'compile',
    `The transform ${module} does not compile${place}: ${line.replace(/^\[\w+\] /, '').slice(0, 300)}.`,
    { cause: error },
  )
}
