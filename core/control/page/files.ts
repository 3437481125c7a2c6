// Reads the files of the built control page. Nothing is kept in memory.
import { hash } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createRequire } from 'node:module'
import { dirname, extname, join } from 'node:path'
import { GatewayError } from '../../errors.ts'

export interface BuiltFile {
  content: Buffer
  type: string
  /** Absent: the content is not compressed. */
  encoding?: 'br' | 'gzip'
}

/** Reads `index.html`, whose content changes with every build, with its entity tag. */
export async function readIndex(): Promise<BuiltFile & { etag: string }> {
  const content = await readBuilt('index.html')
  return { content, type: types['.html'], etag: tagOf(content) }
}

export const tagOf = (content: Buffer): string => `"${hash('sha256', content, 'base64url').slice(0, 22)}"`

/** Reads a file whose name contains the hash of its content, compressed if the browser accepts that. */
export async function readAsset(name: string, acceptEncoding = ''): Promise<BuiltFile> {
  const type = types[extname(name) as keyof typeof types]
  if (!/^[\w-]+-[\w-]{8}\.\w+$/.test(name) || type === undefined) throw new GatewayError('not_found')
  const encoding = encodings.find((one) => new RegExp(`\\b${one}\\b(?!;q=0(?:[,;\\s]|$))`).test(acceptEncoding))
  const content = await readBuilt(encoding === undefined ? name : `${name}.${suffixes[encoding]}`)
  return { content, type, ...(encoding !== undefined && { encoding }) }
}

export const types = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
} as const

const encodings = ['br', 'gzip'] as const
const suffixes = { br: 'br', gzip: 'gz' } as const

/** Reads a file of the build, by its name. */
export async function readBuilt(name: string): Promise<Buffer> {
  const root = dirname(createRequire(import.meta.url).resolve('svc-gateway/package.json'))
  try {
    return await readFile(join(root, 'dist', 'page', name))
  } catch (cause) {
    if (name !== 'index.html') throw new GatewayError('not_found', undefined, { cause })
    throw new GatewayError('not_found', 'The page is not built; run "npm run build".', { cause })
  }
}
