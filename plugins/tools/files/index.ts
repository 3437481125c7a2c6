// Tools for the files in the agent's workspace: read, write, edit, list.
import { createSerialQueue } from 'svc-gateway/kit'
import {
  defineTool,
  defineToolset,
  InputError,
  type Static,
  type ToolContext,
  Type,
  type WorkspaceEntry,
} from 'svc-gateway/plugin'

/** How much of a file is read, in bytes. */
const maxBytes = 10 * 1024 * 1024
/** How many characters one call returns. */
const maxCharacters = 50_000
/** How many entries one call lists. */
const maxEntries = 1000

const Path = (description: string) => Type.String({ pattern: String.raw`\S`, maxLength: 4096, description })

const ReadArgs = Type.Object(
  {
    path: Path('The file, relative to the workspace.'),
    fromLine: Type.Optional(Type.Integer({ minimum: 1, description: 'The first line to read; default: 1.' })),
    lines: Type.Optional(Type.Integer({ minimum: 1, description: 'Most lines to read.' })),
  },
  { additionalProperties: false },
)

const read = defineTool<Static<typeof ReadArgs>>({
  name: 'read',
  external: 'none',
  changes: 'nothing',
  group: 'fs',
  description: 'Reads a text file of the workspace, or some of its lines.',
  args: ReadArgs,
  effects: ['reads-private'],
  async execute({ path, fromLine = 1, lines = Infinity }, { workspace }) {
    const { data, size } = await workspace.read(path, { maxBytes })
    const text = textOf(data, size)
    if (text === undefined) return { path, bytes: size, binary: true }
    const all = text.split('\n')
    const wanted = all.slice(fromLine - 1, fromLine - 1 + lines).join('\n')
    const cut = size > data.length || wanted.length > maxCharacters
    return { path, bytes: size, lines: all.length, text: wanted.slice(0, maxCharacters), ...(cut && { cut: true }) }
  },
})

/** Returns `undefined` for binary data. The data may be cut in the middle of a character. */
function textOf(data: Uint8Array, size: number): string | undefined {
  if (data.includes(0)) return undefined
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(data, { stream: size > data.length })
  } catch {
    return undefined
  }
}

const WriteArgs = Type.Object(
  {
    path: Path('The file, relative to the workspace; missing folders are created.'),
    text: Type.String({ description: 'The whole text of the file.' }),
  },
  { additionalProperties: false },
)

const EditArgs = Type.Object(
  {
    path: Path('The file, relative to the workspace.'),
    old: Type.String({
      minLength: 1,
      description: 'The exact text to replace. It must occur once.',
    }),
    new: Type.String({ description: 'The new text.' }),
    all: Type.Optional(Type.Boolean({ description: 'Replace every occurrence.' })),
  },
  { additionalProperties: false },
)

type Edit = Static<typeof EditArgs>

async function editFile({ path, old, new: replacement, all = false }: Edit, { workspace }: ToolContext) {
  const { data, size } = await workspace.read(path, { maxBytes })
  const text = size > data.length ? undefined : textOf(data, size)
  if (text === undefined) throw new InputError('path is not a text file that can be edited.')
  const pieces = text.split(old)
  const found = pieces.length - 1
  if (found === 0) throw new InputError('old does not occur in the file; read it again.')
  if (found > 1 && !all) throw new InputError(`old occurs ${found} times in the file; make it longer, or set all.`)
  await workspace.write(path, pieces.join(replacement))
  return { path, replaced: found }
}

const ListArgs = Type.Object(
  {
    path: Type.Optional(Path('The folder, relative to the workspace; default: the workspace.')),
    depth: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 10, description: 'How many levels of folders to list; default: 1.' }),
    ),
  },
  { additionalProperties: false },
)

const list = defineTool<Static<typeof ListArgs>>({
  name: 'list',
  external: 'none',
  changes: 'nothing',
  group: 'fs',
  description: 'Lists a folder of the workspace.',
  args: ListArgs,
  effects: ['reads-private'],
  async execute({ path = '.', depth = 1 }, { workspace }) {
    const items: { path: string; kind: WorkspaceEntry['kind'] }[] = []
    const folders = [{ path, depth }]
    for (let folder = folders.shift(); folder && items.length <= maxEntries; folder = folders.shift()) {
      for (const { name, kind } of await workspace.list(folder.path)) {
        const inside = folder.path === '.' ? name : `${folder.path}/${name}`
        items.push({ path: inside, kind })
        if (kind === 'folder' && folder.depth > 1) folders.push({ path: inside, depth: folder.depth - 1 })
      }
    }
    return items.length > maxEntries ? { items: items.slice(0, maxEntries), cut: true } : { items }
  },
})

export default defineToolset({
  name: 'files',
  description: "The files in the agent's workspace.",
  expected: () => ['read', 'write', 'edit', 'list'].map((name) => ({ name, group: 'fs' })),
  panel: {
    title: 'Workspaces',
    folder: new URL('./panel/', import.meta.url),
    // The agents, as far as the reader may see them.
    reads: ['/api/config', '/api/sessions'],
  },
  async open() {
    // The second of two edits must see what the first one has written.
    const changes = createSerialQueue()
    const write = defineTool<Static<typeof WriteArgs>>({
      name: 'write',
      external: 'none',
      group: 'fs',
      description: 'Creates or replaces a text file of the workspace.',
      args: WriteArgs,
      effects: [],
      execute: ({ path, text }, { workspace }) =>
        changes.add(async () => {
          await workspace.write(path, text)
          return { path, bytes: Buffer.byteLength(text) }
        }),
    })
    const edit = defineTool<Edit>({
      name: 'edit',
      external: 'none',
      group: 'fs',
      description: 'Replaces text in a file of the workspace.',
      args: EditArgs,
      // The result reveals whether the file contains a text.
      effects: ['reads-private'],
      execute: (args, context) => changes.add(() => editFile(args, context)),
    })
    return { tools: [read, write, edit, list], close: async () => undefined }
  },
})
