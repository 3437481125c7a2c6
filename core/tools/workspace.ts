// The files of an agent: read, written and listed inside its folder, and nowhere else.
import { randomUUID } from 'node:crypto'
import { constants } from 'node:fs'
import { type FileHandle, mkdir } from 'node:fs/promises'
import { type Folder, openFolder, openParent } from '../config/file/folder.ts'
import { PathError } from '../config/file/paths.ts'
import { InputError, type Workspace, type WorkspaceEntry } from '../plugin.ts'

/** The largest file that is written, in bytes. */
const largestWrite = 10 * 1024 * 1024

/** `folder`: where the agent's files are, absolute; made when it is first used. */
export function createWorkspace(folder: string): Workspace {
  const inside = async <Result>(path: string, use: () => Promise<Result>): Promise<Result> => {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    return await use().catch((error: unknown) => {
      throw refusal(error, path)
    })
  }
  return {
    path: () => inside('.', async () => folder),
    read: (path, { maxBytes }) =>
      inside(path, () => inParent(folder, { path }, (parent, name) => readFile(parent, name, maxBytes))),
    write: (path, data) =>
      inside(path, () => inParent(folder, { path, create: true }, (parent, name) => writeFile(parent, name, data))),
    list: (path) => inside(path, () => listFolder(folder, path)),
  }
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
  // Without waiting: a pipe that nobody writes to would hold the caller up for ever.
  const handle = await parent.open(name, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    const stats = await handle.stat()
    if (!stats.isFile())
      throw new InputError(stats.isDirectory() ? 'path is a folder; list it instead.' : 'path is not a plain file.')
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

/** Whole or not at all: a reader never sees half a file. What was there keeps its permissions. */
async function writeFile(parent: Folder, name: string, data: string | Uint8Array): Promise<void> {
  if (Buffer.byteLength(data) > largestWrite) throw new InputError(`A file may have at most ${largestWrite} bytes.`)
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

/** The caller's path is at fault, not the disk: it hears so. */
const ofThePath: Readonly<Record<string, string>> = {
  ENOENT: 'does not exist',
  ENOTDIR: 'leads through something that is no folder',
  EISDIR: 'is a folder',
  ENOTEMPTY: 'is a folder',
  ELOOP: 'is a link that leads nowhere',
  ENAMETOOLONG: 'is too long',
  EACCES: 'may not be used',
  EPERM: 'may not be used',
  ENXIO: 'is not a plain file',
}

function refusal(error: unknown, path: string): unknown {
  if (error instanceof PathError) return new InputError(`path ${error.message}.`)
  const why = ofThePath[(error as NodeJS.ErrnoException).code ?? '']
  return why === undefined ? error : new InputError(`path ${JSON.stringify(path)} ${why}.`, { cause: error })
}
