// Reads the version of the gateway.
import { createRequire } from 'node:module'

export function readVersion(): string {
  const { version } = createRequire(import.meta.url)('svc-gateway/package.json') as { version: string }
  return version
}
