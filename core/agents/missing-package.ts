// Names the command that installs the missing package of a provider.
import { readFileSync } from 'node:fs'

/** Returns a sentence with the command, or undefined for any other error. */
export function describeMissingPackage(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const name = /Cannot find package '([^']+)'/.exec(String(message))?.[1]
  return name && `The package ${name} is not installed; install it with: npm install ${name}${findTestedVersion(name)}`
}

/** Returns `@<version>` for a package that this gateway was tested with. */
function findTestedVersion(name: string): string {
  const manifest = readFileSync(new URL(import.meta.resolve('svc-gateway/package.json')), 'utf8')
  const { optionalDependencies = {} } = JSON.parse(manifest) as { optionalDependencies?: Record<string, string> }
  return optionalDependencies[name] ? `@${optionalDependencies[name]}` : ''
}
