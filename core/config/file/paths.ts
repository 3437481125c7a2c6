// Confines paths to a folder, with all links resolved. No other file does this.
import { realpathSync } from 'node:fs'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'

/** A rejected path. The message has the resolved path and the folder that it must be in. */
export class PathError extends Error {
  override readonly name = 'PathError'
  /** Whether the path is allowed but does not exist. */
  readonly missing: boolean

  constructor(message: string, { cause, missing = false }: { cause?: unknown; missing?: boolean } = {}) {
    super(message, { cause })
    this.missing = missing
  }
}

/**
 * The real path of `path`, which must be relative and exist inside `root`. `root` itself is allowed.
 * @throws {PathError} if it is absolute, leaves the root, does not exist, or is a symbolic link to the outside.
 */
export function confine(root: string, path: string): string {
  if (!isPlainRelative(path))
    throw new PathError(
      `"${path}" must be a relative path without "..", "~", a drive or a scheme; it must be inside ${root}`,
    )
  const realRoot = real(root, `the folder ${root} does not exist`)
  const realPath = real(resolve(realRoot, path), `"${path}" does not exist inside ${realRoot}`)
  if (isInside(realRoot, realPath)) return realPath
  throw new PathError(`"${path}" resolves to ${realPath}, which is outside ${realRoot}`)
}

function isPlainRelative(path: string): boolean {
  const parts = path.split(/[\\/]/)
  return (
    path.trim() !== '' &&
    !isAbsolute(path) &&
    !/^(?:[a-z][a-z\d+.-]*:|[\\~])/i.test(path) &&
    !parts.includes('..') &&
    !path.includes('\0')
  )
}

/** Whether `path` is `root` or below it. Both are absolute; no link is resolved. */
export function isInside(root: string, path: string): boolean {
  const inner = relative(root, path)
  return inner !== '..' && !inner.startsWith(`..${sep}`) && !isAbsolute(inner)
}

/** The path with all links resolved. What does not exist yet is in the folder where it would be made. */
export function resolveLinks(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(resolveLinks(parent), basename(path))
  }
}

function real(path: string, message: string): string {
  try {
    return realpathSync(path)
  } catch (cause) {
    throw new PathError(message, { cause, missing: (cause as NodeJS.ErrnoException).code === 'ENOENT' })
  }
}
