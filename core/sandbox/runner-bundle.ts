// Bundles the sources of a child, for gateways that run from source.
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const input = fileURLToPath(new URL('./runner/runner.ts', import.meta.url))
await using bundle = await rolldown({ input, platform: 'node', logLevel: 'silent', tsconfig: false })
const { output } = await bundle.generate({ format: 'esm', codeSplitting: false })

export const { code } = output[0]
