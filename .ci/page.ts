// Builds the control page into dist/page: scripts in chunks, one stylesheet, and the HTML file that names them. Each of
// these files but the HTML has the hash of its content in its name and is stored compressed, too. Panels of extensions
// name their script and their stylesheet themselves, so these have no hash.
import { hash } from 'node:crypto'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { brotliCompressSync, constants, gzipSync } from 'node:zlib'
import { type OutputChunk, rolldown } from 'rolldown'

/** @returns the paths of the modules in it */
export async function buildPage(root: string, dist: string): Promise<string[]> {
  const source = join(root, 'plugins', 'page')
  const [chunks, bridge] = await Promise.all([bundleScripts(root, source), bundleBridge(root, source)])
  const entry = chunks.find((chunk) => chunk.isEntry)
  if (!entry) throw new Error('The page has no entry.')
  const style = readStyle(root, source)
  const styleFile = `page-${hash('sha256', style, 'base64url').replace(/[-_]/g, 'x').slice(0, 8)}.css`
  const icon = readFileSync(join(source, 'icon.svg'), 'utf8')
  const iconFile = `icon-${hash('sha256', icon, 'base64url').replace(/[-_]/g, 'x').slice(0, 8)}.svg`
  const folder = join(dist, 'page')
  mkdirSync(folder, { recursive: true })
  const files: [string, string][] = [
    ...chunks.map(({ fileName, code }): [string, string] => [fileName, code]),
    [styleFile, style],
    [iconFile, icon],
  ]
  for (const [name, content] of files) writeCompressed(join(folder, name), content)
  // What the entry imports is loaded at the same time, not after it.
  const preloads = entry.imports.map((name) => `<link rel="modulepreload" href="page/${name}">`)
  writeFileSync(join(folder, 'panel.js'), bridge)
  writeFileSync(join(folder, 'panel.css'), readPanelStyle(source))
  const html = readFileSync(join(source, 'page.html'), 'utf8')
    .replace('page.css', `page/${styleFile}`)
    .replace('icon.svg', `page/${iconFile}`)
    .replace('main.tsx', `page/${entry.fileName}`)
    .replace('<!-- preloads -->', preloads.join('\n'))
  writeFileSync(join(folder, 'index.html'), html)
  return chunks.flatMap(({ moduleIds }) => moduleIds)
}

async function bundleScripts(root: string, source: string): Promise<OutputChunk[]> {
  await using built = await rolldown({
    cwd: root,
    input: { main: join(source, 'main.tsx') },
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    logLevel: 'warn',
  })
  const { output } = await built.generate({
    format: 'esm',
    minify: true,
    entryFileNames: '[name]-[hash].js',
    chunkFileNames: '[name]-[hash].js',
    hashCharacters: 'hex',
    codeSplitting: { groups: [{ name: 'packages', test: /node_modules[\\/](?:@?preact|@preact)[\\/]/ }] },
  })
  return output.filter((file) => file.type === 'chunk')
}

/** The module that panels import. It is not shared with the page, so it is one file. */
async function bundleBridge(root: string, source: string): Promise<string> {
  await using built = await rolldown({
    cwd: root,
    input: join(source, 'panels', 'frame.ts'),
    platform: 'browser',
    tsconfig: join(source, 'tsconfig.json'),
    logLevel: 'warn',
  })
  const { output } = await built.generate({ format: 'esm', minify: true })
  return output[0].code
}

/** The styles of the page itself come last, so that they can change those of packages. */
function readStyle(root: string, source: string): string {
  const own = readdirSync(join(source, 'style')).toSorted()
  const files = [
    join(root, 'node_modules', 'uplot', 'dist', 'uPlot.min.css'),
    ...own.map((name) => join(source, 'style', name)),
  ]
  return files.map((file) => minifyStyle(readFileSync(file, 'utf8'))).join('\n')
}

/** The colors and the type of the page, and the styles of elements. */
const readPanelStyle = (source: string): string =>
  [join(source, 'style', '1-base.css'), join(source, 'panels', 'frame.css')]
    .map((file) => minifyStyle(readFileSync(file, 'utf8')))
    .join('\n')

/** Only removes comments and indentation: compression does the rest. */
const minifyStyle = (text: string): string =>
  text
    .replaceAll(/\/\*[^]*?\*\//g, '')
    .replaceAll(/\s*\n\s*/g, '\n')
    .trim()

function writeCompressed(file: string, content: string): void {
  const bytes = Buffer.from(content)
  const brotli = brotliCompressSync(bytes, {
    params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length, [constants.BROTLI_PARAM_QUALITY]: 11 },
  })
  writeFileSync(file, bytes)
  writeFileSync(`${file}.br`, brotli)
  writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }))
}
