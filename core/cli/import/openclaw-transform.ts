// Makes a transform of openclaw usable: a file that calls it as openclaw does, and returns what this gateway expects.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { confine, PathError } from '../../config/file/paths.ts'
import { isRecord } from '../../config/walk.ts'

/** @returns the module of the new file, or `undefined` if there is no such transform */
export function wrapTransform(transform: unknown, { from, to }: { from: string; to: string }): string | undefined {
  if (!isRecord(transform) || typeof transform['module'] !== 'string') return undefined
  const { module, export: name } = transform
  if (!isPresent(from, module)) return undefined
  mkdirSync(to, { recursive: true, mode: 0o700 })
  const wrapper = freeName(to, basename(module).replace(/\.[^.]*$/, ''))
  writeFileSync(join(to, wrapper), wrapperText(module, typeof name === 'string' ? name : undefined), { mode: 0o600 })
  return wrapper
}

function isPresent(root: string, module: string): boolean {
  try {
    confine(root, module)
    return true
  } catch (error) {
    if (error instanceof PathError) return false
    throw error
  }
}

/** Several mappings may use functions of one module. */
function freeName(folder: string, base: string, count = 1): string {
  const name = `openclaw-${base}${count === 1 ? '' : `-${count}`}.js`
  return existsSync(join(folder, name)) ? freeName(folder, base, count + 1) : name
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
