// Decides whether a configuration that nobody has named is used: it names plugins, programs and addresses, so whoever
// can change it or its folder can act as the user of this process.
import { lstatSync, realpathSync, type Stats } from 'node:fs'
import { dirname } from 'node:path'
import { ConfigError } from '../config-error.ts'

/** The user of a process. */
export interface User {
  uid: number
  gid: number
}

/** Undefined on Windows, which has no such owners and permissions. */
export function currentUser(): User | undefined {
  const [uid, gid] = [process.geteuid?.(), process.getegid?.()]
  return uid === undefined || gid === undefined ? undefined : { uid, gid }
}

/**
 * Rejects a file that belongs to another user or that others can change, and one in such a folder. A file that does not
 * exist is judged by its folder.
 * @throws {ConfigError}
 */
export function assertTrusted(file: string, user: User | undefined = currentUser()): void {
  for (const path of user === undefined ? [] : listPaths(file)) {
    const stats = lstatSync(path, { throwIfNoEntry: false })
    const problem = stats && findDistrust({ path, stats }, user as User)
    if (problem === undefined) continue
    const where = path === file ? '' : `depends on ${path}, which `
    throw new ConfigError(file, [{ path: '', problem: `${where}${problem}` }])
  }
}

/** The file and its folder, and where a link leads. */
function listPaths(file: string): Set<string> {
  const paths = [dirname(file), file]
  try {
    const target = realpathSync(file)
    paths.push(dirname(target), target)
  } catch {
    // The file does not exist.
  }
  return new Set(paths)
}

/** The superuser can change every file anyway. In a folder such as /tmp, others can add plugins and transforms. */
function findDistrust({ path, stats }: { path: string; stats: Stats }, { uid, gid }: User): string | undefined {
  if (stats.uid !== uid && stats.uid !== 0)
    return `belongs to another user (${stats.uid}); give it with --config if you trust that user`
  // A link has no permissions of its own.
  if (stats.isSymbolicLink()) return undefined
  if ((stats.mode & 0o002) !== 0) return writable(path, { by: 'every user of this machine', fix: 'o-w' })
  // Many systems give each user a group of their own.
  const isShared = (stats.mode & 0o020) !== 0 && stats.gid !== gid && stats.gid !== 0
  return isShared ? writable(path, { by: `the group ${stats.gid}`, fix: 'g-w' }) : undefined
}

const writable = (path: string, { by, fix }: { by: string; fix: string }): string =>
  `can be changed by ${by}; run "chmod ${fix} ${path}", or give the configuration with --config`
