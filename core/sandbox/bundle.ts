// The program of the bundler's process: bundles a transform and its imports into one text, without executing it. Every
// file is confined to the transforms directory, both when its path is resolved and when it is read.
import { dirname, extname, isAbsolute, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { stripVTControlCharacters } from 'node:util'
import type { Plugin } from 'rolldown'
import { PathError } from '../config/file/paths.ts'
import { fingerprint } from '../config/file/watch.ts'
import { bundleName } from './ipc-frames.ts'
import type { Bundle, BundleReply, BundleRequest } from './bundler.ts'
import { codeFile, openTransformsDirectory, type TransformsDirectory } from './transforms-directory.ts'
import { TransformError } from './transform-error.ts'

interface BundleOptions {
  /** Path as configured, relative to the transforms directory. */
  module: string
  directory: TransformsDirectory
  /** Called with every file that the bundle depends on, including missing files. */
  onFile(path: string): void
}

process.on('message', (request: BundleRequest) => {
  void bundleTransform(request).then((reply) => process.send?.(reply))
})

async function bundleTransform({ root, dir, module }: BundleRequest): Promise<BundleReply> {
  const seen = new Map<string, string>()
  const onFile = (path: string): void => void seen.set(path, seen.get(path) ?? fingerprint(path))
  try {
    return {
      bundle: await bundle({ module, directory: openTransformsDirectory({ root, dir }), onFile }),
      seen: [...seen],
    }
  } catch (error) {
    const { message } = error as Error
    return { fault: error instanceof TransformError ? error.fault : 'compile', message, seen: [...seen] }
  }
}

/** @throws {TransformError} `missing` or `compile`, with the fix in its message */
async function bundle(options: BundleOptions): Promise<Bundle> {
  options.onFile(resolve(options.directory.dir, options.module))
  const { rolldown } = await loadBundler()
  const folder = confine(() => options.directory.folder(), options.module)
  const build = await rolldown({
    input: options.module,
    cwd: folder,
    platform: 'neutral',
    logLevel: 'silent',
    tsconfig: false,
    plugins: [confined(folder, options)],
  })
  try {
    const { output } = await build.generate({
      format: 'iife',
      name: bundleName,
      exports: 'named',
      codeSplitting: false,
      sourcemap: 'hidden',
      sourcemapExcludeSources: true,
      // Relative to the folder of the transforms: other files begin with "..".
      sourcemapPathTransform: (source, map) => relative(folder, resolve(dirname(map), source)),
    })
    const [{ code, map }] = output
    if (code.length > maxBundleLength)
      throw new TransformError('compile', `The transform ${options.module} is too large.`)
    return { code, map: map?.toString() ?? '' }
  } catch (error) {
    throw toTransformError(error, options.module)
  } finally {
    await build.close()
  }
}

/** The native part of rolldown is an optional package for each platform, which may not be installed. */
async function loadBundler() {
  try {
    return await import('rolldown')
  } catch (cause) {
    throw new TransformError(
      'compile',
      'Transforms need the native part of the package "rolldown"; install without --omit=optional.',
      { cause },
    )
  }
}

const maxBundleLength = 4_194_304
const importable = /\.(?:[cm]?js|m?ts|json)$/

/** Resolves relative files inside the folder, `typebox`, and `svc-gateway/transform`, and rejects all other imports. */
function confined(folder: string, { module, directory, onFile }: BundleOptions): Plugin {
  const isLibrary = (importer: string): boolean => !isAbsolute(importer) || relative(folder, importer).startsWith('..')

  function locate(path: string, allowed: RegExp): { id: string } {
    onFile(resolve(directory.dir, path))
    if (!allowed.test(path))
      throw new TransformError(
        'compile',
        `"${path}" cannot be part of a transform; its extension must be .ts, .mts, .js, .mjs or .cjs.`,
      )
    const id = confine(() => directory.locate(path), path)
    onFile(id)
    return { id }
  }

  return {
    name: 'confined',
    async resolveId(specifier, importer) {
      if (importer === undefined) return locate(module, codeFile)
      // The helpers need only the schema builder of our own module.
      if (specifier === 'typebox' || (isLibrary(importer) && /^\.\.?\/typebox\.ts$/.test(specifier)))
        return this.resolve('typebox', import.meta.filename, { skipSelf: true })
      // Imports inside typebox and the helpers are resolved as usual.
      if (isLibrary(importer)) return null
      if (specifier === 'svc-gateway/transform') return { id: helpers }
      if (/^\.\.?\//.test(specifier)) return locate(relative(folder, resolve(dirname(importer), specifier)), importable)
      const fix = specifier.startsWith('svc-gateway/') ? 'import it from "svc-gateway/transform".' : allowedImports
      throw new TransformError('compile', `${relative(folder, importer)} imports "${specifier}"; ${fix}`)
    },
    async load(id) {
      if (isLibrary(id)) return null
      return { code: await directory.read(id), moduleType: moduleTypes[extname(id)] ?? 'js' }
    },
  }
}

const allowedImports =
  'a transform may import files of the transforms directory (with "./" and the extension), "typebox" and ' +
  '"svc-gateway/transform", but no modules of Node.'
const moduleTypes: Record<string, 'ts' | 'json'> = { '.ts': 'ts', '.mts': 'ts', '.json': 'json' }

/** `svc-gateway/transform`: the build has it in one file, which imports only typebox. */
const isBuilt = extname(import.meta.filename) === '.js'
/** As the bundler names it in an error. */
const helpersPath = /"\.\.\/\S*\/transform\.[jt]s"/
const helpers = fileURLToPath(new URL(isBuilt ? './transform.js' : '../transform.ts', import.meta.url))

/** Turns a `PathError` of `resolvePath` into a `TransformError`. */
function confine<Value>(resolvePath: () => Value, path: string): Value {
  try {
    return resolvePath()
  } catch (error) {
    if (!(error instanceof PathError)) throw error
    const message = error.missing
      ? `There is no ${path} in the transforms directory; check the name and its extension.`
      : `${error.message}.`
    throw new TransformError(error.missing ? 'missing' : 'compile', message, { cause: error })
  }
}

interface BundlerProblem {
  message?: string
  loc?: { file?: string; line: number; column: number }
}

/**
 * Reports the first of the bundler's problems, in one line. A `TransformError` is created again, because the bundler
 * overwrites its `code`.
 */
function toTransformError(error: unknown, module: string): TransformError {
  const [first = error as BundlerProblem] = (error as { errors?: BundlerProblem[] }).errors ?? []
  if (first instanceof TransformError) return new TransformError(first.fault, first.message, { cause: first.cause })
  if (first instanceof PathError) return new TransformError('compile', `${first.message}.`, { cause: first })
  const [line = ''] = stripVTControlCharacters(first.message ?? '').split('\n')
  const position = first.loc ? ` at line ${first.loc.line}, column ${first.loc.column}` : ''
  const reason = line
    .replace(/^\[\w+\] /, '')
    .replace(helpersPath, '"svc-gateway/transform"')
    .replace(/\.$/, '')
  return new TransformError(
    'compile',
    `The transform ${module} does not compile${position}: ${reason.slice(0, 300)}.`,
    { cause: error },
  )
}
