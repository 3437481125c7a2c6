// The workspace of an agent: reads, writes and lists files inside its folder, and nowhere else.
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir } from 'node:fs/promises'
import { type Folder, openFolder, openParent } from '../config/file/folder.ts'
import { PathError } from '../config/file/paths.ts'
import { InputError, type Workspace, type WorkspaceEntry } from '../plugin/plugin.ts'

/** Maximum size of a file that a tool writes. */
const maxWriteBytes = 10 * 1024 * 1024

/** `folder` is the absolute path of the agent's files. It is created on first use. */
export function createWorkspace(folder: string, maxBytes = maxWriteBytes): Workspace {
  const inside = async <Result>(path: string, use: () => Promise<Result>): Promise<Result> => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return await use().catch((error: unknown) => {
      throw toInputError(error, path)
    })
  }
  return {
    path: () => inside('.', async () => folder),
    read: (path, limit) =>
      inside(path, () => inParent(folder, { path }, (parent, name) => readFile(parent, name, limit.maxBytes))),
    write: (path, data) =>
      inside(path, () =>
        inParent(folder, { path, create: true }, (parent, name) => writeFile(parent, name, { data, maxBytes })),
      ),
    list: (path) => inside(path, () => listFolder(folder, path)),
  }
}

/** Reads a whole file. Throws `InputError` if it cannot be read or has more than `maxBytes`. */
export async function readWorkspaceFile(
  { folder, path }: { folder: string; path: string },
  maxBytes: number,
): Promise<Uint8Array> {
  const { data, size } = await createWorkspace(folder).read(path, { maxBytes })
  if (size > maxBytes)
    throw new InputError(`${JSON.stringify(path)} has ${size} bytes, and at most ${maxBytes} can be sent there.`)
  return data
}

interface Target {
  path: string
  create?: boolean
}

async function inParent<Result>(
  root: string,
  { path, create = false }: Target,
  use: (parent: Folder, name: string) => Promise<Result>,
): Promise<Result> {
  const { folder, name } = await openParent(root, path, { create })
  try {
    return await use(folder, name)
  } finally {
    await folder.close()
  }
}

async function readFile(parent: Folder, name: string, maxBytes: number): Promise<{ data: Uint8Array; size: number }> {
  // Without O_NONBLOCK, opening a pipe would wait for a writer.
  const handle = await parent.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    if (!stats.isFile())
      throw new InputError(stats.isDirectory() ? 'path is a folder; list it instead.' : 'path is not a regular file.')
    return { data: await readAtMost(handle, Math.min(stats.size, maxBytes)), size: stats.size }
  } finally {
    await handle.close()
  }
}

async function readAtMost(handle: FileHandle, bytes: number): Promise<Uint8Array> {
  const data = Buffer.alloc(bytes)
  let length = 0
  while (length < bytes) {
    const { bytesRead } = await handle.read(data, length, bytes - length)
    if (bytesRead === 0) break
    length += bytesRead
  }
  return data.subarray(0, length)
}

/** Replaces the file atomically and keeps its permissions. */
async function writeFile(
  parent: Folder,
  name: string,
  { data, maxBytes }: { data: string | Uint8Array; maxBytes: number },
): Promise<void> {
  if (Buffer.byteLength(data) > maxBytes) throw new InputError(`A file may have at most ${maxBytes} bytes.`)
  const draft = `.${randomUUID()}.tmp`
  try {
    const mode = await modeOf(parent, name)
    const handle = await parent.open(draft, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL, 0o600)
    try {
      await handle.writeFile(data)
      await handle.chmod(mode)
    } finally {
      await handle.close()
    }
    await parent.rename(draft, name)
  } finally {
    await parent.remove(draft)
  }
}

async function modeOf(parent: Folder, name: string): Promise<number> {
  try {
    const handle = await parent.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
    const { mode } = await handle.stat()
    await handle.close()
    return mode & 0o777
  } catch {
    return 0o644
  }
}

async function listFolder(root: string, path: string): Promise<WorkspaceEntry[]> {
  const folder = await openFolder(root, path)
  try {
    return (await folder.entries()).map((entry) => ({ name: entry.name, kind: kindOf(entry) }))
  } finally {
    await folder.close()
  }
}

type Dirent = Awaited<ReturnType<Folder['entries']>>[number]

function kindOf(entry: Dirent): WorkspaceEntry['kind'] {
  if (entry.isFile()) return 'file'
  if (entry.isDirectory()) return 'folder'
  return entry.isSymbolicLink() ? 'link' : 'other'
}

/** Errors that the path causes, which are reported to the caller. */
const pathProblems: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'leads through something that is not a folder',
  EISDIR: 'is a folder',
  ENOTEMPTY: 'is a folder',
  ELOOP: 'is a link without a target',
  ENAMETOOLONG: 'is too long',
  EACCES: 'is not accessible',
  EPERM: 'is not accessible',
  ENXIO: 'is not a regular file',
}

function toInputError(error: unknown, path: string): unknown {
  if (error instanceof PathError) return new InputError(`path ${error.message}.`)
  const problem = pathProblems[(error as NodeJS.ErrnoException).code ?? '']
  return problem === undefined ? error : new InputError(`path ${JSON.stringify(path)} ${problem}.`, { cause: error })
}
