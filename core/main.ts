#!/usr/bin/env node
// The entry of the command line: checks the Node version, then runs a command of `cli/`.
import module from 'node:module'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { mapStackTraces } from './cli/stack-traces.ts'

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 16)) {
  process.stderr.write(
    `svc-gateway needs Node.js 24.16 or newer; this is ${process.version}. Install a newer version from ` +
      `https://nodejs.org.\n`,
  )
  process.exit(1)
}
mapStackTraces()
// Caches compiled code for the next start. The cache is executed, so it is in a folder that only the user can write.
const cache = process.env['XDG_CACHE_HOME'] ?? inHome('.cache')
if (cache !== undefined) module.enableCompileCache(join(cache, 'svc-gateway', 'compiled'))
const { runProgram } = await import('./cli/program.ts')
await runProgram(process.argv)

/** A user without an entry in the list of users may have no home. */
function inHome(folder: string): string | undefined {
  try {
    return join(homedir(), folder)
  } catch {
    return undefined
  }
}
