#!/usr/bin/env node
// The command line's entry: makes sure that Node is new enough, then hands over to the commands in `cli/`.

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
if (major < 24 || (major === 24 && minor < 15)) {
  process.stderr.write(`svc-gateway needs Node.js 24.15 or newer; this is ${process.version}. Install a newer one, from https://nodejs.org for example.\n`)
  process.exit(1)
}
const { runProgram } = await import('./cli/program.ts')
await runProgram(process.argv)
