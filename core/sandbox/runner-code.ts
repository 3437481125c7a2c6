// Reads the code of a child as one text: the built file, or a bundle of the sources when they run directly.
import { readFile } from 'node:fs/promises'
import { extname } from 'node:path'
import { fileURLToPath } from 'node:url'

export async function readRunner(): Promise<string> {
  const fileExtension = extname(import.meta.filename)
  const file = fileURLToPath(new URL(`./runner${fileExtension}`, import.meta.url))
  return fileExtension === '.js' ? readFile(file, 'utf8') : bundleRunner(file)
}

async function bundleRunner(file: string): Promise<string> {
  const { rolldown } = await import('rolldown')
  const bundle = await rolldown({ input: file, platform: 'node', logLevel: 'silent', tsconfig: false })
  try {
    const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })
    return output[0].code
  } finally {
    await bundle.close()
  }
}
