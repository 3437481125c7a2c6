// Reads the package of the gateway: its version, and those of the packages that it was tested with.
import { createRequire } from 'node:module'

interface Manifest {
  version: string
  devDependencies: Readonly<Record<string, string>>
  optionalDependencies: Readonly<Record<string, string>>
}

export const readManifest = (): Manifest => createRequire(import.meta.url)('svc-gateway/package.json') as Manifest

export const readVersion = (): string => readManifest().version
