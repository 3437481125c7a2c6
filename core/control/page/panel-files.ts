// The panels of the control page: which ones the loaded extensions bring, and their files.
import { fileURLToPath } from 'node:url'
import { extname } from 'node:path'
import { PathError } from '../../config/file/paths.ts'
import { readInside } from '../../config/file/read-inside.ts'
import { GatewayError } from '../../errors.ts'
import type { Extensions } from '../../loader/registry.ts'
import type { Panel } from '../../plugin/plugin.ts'
import { type BuiltFile, readBuilt, tagOf, types } from './files.ts'

export type PanelKind = 'channel' | 'toolset' | 'preset'

export interface PanelPlace {
  kind: string
  /** The name of the extension. */
  name: string
}

export interface FoundPanel extends PanelPlace {
  kind: PanelKind
  panel: Panel
  /** The entry of `plugins`, or `svc-gateway`. */
  source: string
}

/** The part of the configuration that says which extensions are in use. */
interface UsedExtensions {
  channels: Readonly<Record<string, { enabled?: boolean } | undefined>>
  hooks: { enabled: boolean; presets: readonly string[] }
}

export interface Panels {
  list(): readonly FoundPanel[]
  /** Reads a file of a panel. @throws {GatewayError} `not_found` */
  read(place: PanelPlace, path: string): Promise<BuiltFile & { etag: string }>
}

export interface PanelsDeps {
  extensions: Pick<Extensions, 'channels' | 'toolsets' | 'presets' | 'sources'>
  config: UsedExtensions
}

export function createPanels({ extensions, config }: PanelsDeps): Panels {
  const { channels, toolsets, presets, sources } = extensions
  const used = [
    ...toolsets.values(),
    ...[...channels.values()].filter(({ name }) => config.channels[name]?.enabled),
    ...[...presets.values()].filter(({ name }) => config.hooks.enabled && config.hooks.presets.includes(name)),
  ]
  const found = used.flatMap((extension): FoundPanel[] => {
    const { kind, name, panel } = extension
    return panel === undefined ? [] : [{ kind, name, panel, source: sources.get(extension) ?? '' }]
  })
  return {
    list: () => found,
    async read({ kind, name }, path) {
      const one = found.find((other) => other.kind === kind && other.name === name)
      const type = typeOf(path)
      if (!one || type === undefined) throw new GatewayError('not_found')
      const content = await readConfined(fileURLToPath(one.panel.folder), path)
      return { content, type, etag: tagOf(content) }
    },
  }
}

/** Reads what every panel may use: `panel.js` and `panel.css`. */
export async function readPanelPart(name: string): Promise<BuiltFile & { etag: string }> {
  const type = typeOf(name)
  if (type === undefined || !partNames.has(name)) throw new GatewayError('not_found')
  const content = await readBuilt(name)
  return { content, type, etag: tagOf(content) }
}

const partNames: ReadonlySet<string> = new Set(['panel.js', 'panel.css'])

/** Every part of a path begins with a letter, a digit, `_` or `-`, so files such as `.env` are not served. */
const panelPath = /^(?:[\w-][\w.@-]*\/)*[\w-][\w.@-]*$/

const panelTypes: Readonly<Record<string, string>> = {
  ...types,
  '.mjs': types['.js'],
  '.json': 'application/json; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.avif': 'image/avif',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

/** Undefined: such a file is not served. */
function typeOf(path: string): string | undefined {
  const extension = extname(path)
  return panelPath.test(path) && Object.hasOwn(panelTypes, extension) ? panelTypes[extension] : undefined
}

const maxFileBytes = 8_388_608

async function readConfined(folder: string, path: string): Promise<Buffer> {
  try {
    return await readInside(folder, path, maxFileBytes)
  } catch (cause) {
    const isExpected = cause instanceof PathError || (cause as NodeJS.ErrnoException).code !== undefined
    throw isExpected ? new GatewayError('not_found', undefined, { cause }) : cause
  }
}
