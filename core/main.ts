#!/usr/bin/env node
// The command line's entry: makes sure that Node is new enough, then hands over to the commands in `cli/`.
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 16)) {
  process.stderr.write(
    `svc-gateway needs Node.js 24.16 or newer; this is ${process.version}. Install a newer one, from https://nodejs.org for example.\n`,
  )
  process.exit(1)
}
// Stack traces name the TypeScript sources of the build.
process.setSourceMapsEnabled(true)
// Compiled code is kept for the next start. It is executed, so it is in the user's own cache, where nobody else can write.
module.enableCompileCache(join(process.env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'svc-gateway', 'compiled'))
const { runProgram } = await import('./cli/program.ts')
await runProgram(process.argv)
