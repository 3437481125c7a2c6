// Brings the package to a folder of a user, as `npm install` would.
import { chmodSync, cpSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const { bin, dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  bin: Record<string, string>
  dependencies: Record<string, string>
}

/** What authors of plugins and transforms develop with, as the documentation tells them. */
export const developmentPackages = ['vitest', 'typescript', '@types/node', '@ai-sdk/openai-compatible']

interface Contents {
  /** Files and folders of the package. */
  files?: readonly string[]
  /** Packages beside those that it depends on. */
  others?: readonly string[]
}

/** Copies the package, because Node and Vite follow a link to sources outside of `node_modules`; links the others. */
export function installPackage(dir: string, { files = ['package.json', 'dist'], others = [] }: Contents = {}): void {
  const modules = join(dir, 'node_modules')
  const installed = join(modules, 'svc-gateway')
  for (const file of files) cpSync(join(root, file), join(installed, file), { recursive: true })
  for (const name of [...Object.keys(dependencies), ...others]) {
    mkdirSync(dirname(join(modules, name)), { recursive: true })
    symlinkSync(join(root, 'node_modules', name), join(modules, name))
  }
  mkdirSync(join(modules, '.bin'))
  for (const [command, file] of Object.entries(bin)) {
    chmodSync(join(installed, file), 0o755)
    symlinkSync(join(installed, file), join(modules, '.bin', command))
  }
}
