// Tests that programs can read what commands print: each command has the option `--json`.
import { expect, it } from 'vitest'
import { listCommands } from '../../.ci/cli-docs.ts'

/** They run until they are stopped, or print a script. */
const withoutJson = new Set(['start', 'completion'])

it('every command but a few has --json', () => {
  const commands = [...listCommands()].filter(([name]) => !withoutJson.has(name))
  expect(commands.length).toBeGreaterThan(25)
  const lacking = commands.filter(([, { options }]) => !options.some(({ long }) => long === '--json'))
  expect(lacking.map(([name]) => name)).toEqual([])
})
