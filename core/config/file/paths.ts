// The only place where a path is confined: what it really is must lie inside a folder, whatever links lead there.
import { realpathSync } from 'node:fs'
import { isAbsolute, relative, resolve, sep } from 'node:path'

/** A path that may not be used. The message says what it came to and where it must lie. */
export class PathError extends Error {
  override readonly name = 'PathError'
  /** True: nothing is there, which is all that is wrong with it. */
  readonly missing: boolean

  constructor(message: string, { cause, missing = false }: { cause?: unknown; missing?: boolean } = {}) {
    super(message, { cause })
    this.missing = missing
  }
}

/**
 * The real path of `path`, which must be relative and lead to something inside `root`. `root` itself is inside.
 * @throws {PathError} when it is absolute, climbs out, does not exist, or a symbolic link leads out.
 */
export function confine(root: string, path: string): string {
  if (!isPlainRelative(path))
    throw new PathError(
      `"${path}" must be a relative path without "..", "~", a drive or a scheme; it must lie inside ${root}`,
    )
  const realRoot = real(root, `the folder ${root} does not exist`)
  const realPath = real(resolve(realRoot, path), `"${path}" does not exist inside ${realRoot}`)
  if (isInside(realRoot, realPath)) return realPath
  throw new PathError(`"${path}" resolves to ${realPath}, which lies outside ${realRoot}`)
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

function isInside(root: string, path: string): boolean {
  const way = relative(root, path)
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

function real(path: string, refusal: string): string {
  try {
    return realpathSync(path)
  } catch (cause) {
    throw new PathError(refusal, { cause, missing: (cause as NodeJS.ErrnoException).code === 'ENOENT' })
  }
}
