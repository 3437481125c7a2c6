// The package.json of a new plugin. The versions are those that this gateway is tested with.
import { createRequire } from 'node:module'
import type { Extension } from '../../plugin/plugin.ts'

interface OwnPackage {
  version: string
  devDependencies: Readonly<Record<string, string>>
  optionalDependencies: Readonly<Record<string, string>>
}

/** The npm packages that the code of a template imports. */
const imported: Readonly<Record<Extension['kind'], readonly string[]>> = {
  channel: [],
  toolset: [],
  preset: [],
  provider: ['@ai-sdk/openai-compatible'],
  command: [],
}

export function describePackage({ kind, packageName }: { kind: Extension['kind']; packageName: string }): string {
  const own = createRequire(import.meta.url)('svc-gateway/package.json') as OwnPackage
  const versionsOf = (names: readonly string[], versions: Readonly<Record<string, string>>) =>
    Object.fromEntries(names.map((name) => [name, `^${versions[name]}`]))
  const dependencies = versionsOf(imported[kind], own.optionalDependencies)
  const description = {
    name: packageName,
    version: '0.1.0',
    description: `A ${kind} for svc-gateway.`,
    keywords: ['svc-gateway', 'svc-gateway-plugin'],
    type: 'module',
    exports: './src/index.ts',
    files: ['src'],
    scripts: { test: 'vitest run', check: 'tsc' },
    ...(Object.keys(dependencies).length > 0 && { dependencies }),
    peerDependencies: { 'svc-gateway': `>=${own.version}` },
    // The gateway brings the contract. The package of the gateway is for types and tests.
    peerDependenciesMeta: { 'svc-gateway': { optional: true } },
    devDependencies: {
      ...versionsOf(['@types/node'], own.devDependencies),
      'svc-gateway': `^${own.version}`,
      ...versionsOf(['typescript', 'vitest'], own.devDependencies),
    },
  }
  return `${JSON.stringify(description, null, 2)}\n`
}
