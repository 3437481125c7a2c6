// Brings what `npm install` would bring to a folder of a user: this project, and what its plugins are developed with.
import { mkdirSync, symlinkSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

export function installPackages(dir: string): void {
  const link = (name: string, target: string) => {
    mkdirSync(dirname(join(dir, 'node_modules', name)), { recursive: true })
    symlinkSync(target, join(dir, 'node_modules', name))
  }
  link('svc-gateway', root)
  for (const name of ['vitest', 'typescript', '@types/node', '@ai-sdk/openai-compatible'])
    link(name, join(root, 'node_modules', name))
}
