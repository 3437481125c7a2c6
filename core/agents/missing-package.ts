// What to tell an operator when a provider's package is not installed: the command that installs it.
import { readFileSync } from 'node:fs'

/** One sentence with the command, or undefined when the error says something else. */
export function missingPackage(error: unknown): string | undefined {
  const { code, message } = (error ?? {}) as { code?: unknown; message?: unknown }
  if (code !== 'ERR_MODULE_NOT_FOUND') return undefined
  const name = /Cannot find package '([^']+)'/.exec(String(message))?.[1]
  return name && `The package ${name} is not installed; install it with: npm install ${name}${wantedVersion(name)}`
}

/** `@1.2.3` for a package that this gateway was tested with. */
function wantedVersion(name: string): string {
  const { optionalDependencies = {} } = JSON.parse(
    readFileSync(new URL(import.meta.resolve('svc-gateway/package.json')), 'utf8'),
  ) as {
    optionalDependencies?: Record<string, string>
  }
  return optionalDependencies[name] ? `@${optionalDependencies[name]}` : ''
}
