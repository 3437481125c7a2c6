// The command `setup`: writes a first configuration and lists the model servers on this machine.
import { homedir } from 'node:os'
import { resolve } from 'node:path'
import { writeFirstConfig } from '../../config/file/first-run.ts'
import { findLocalServers, type LocalServer } from '../../config/local-servers.ts'
import { commandLine, firstConfigFile } from '../../config/file/locate.ts'

export async function setup({ config, force }: { config?: string; force?: boolean }): Promise<void> {
  const file = config ? resolve(config) : firstConfigFile({ cwd: process.cwd(), home: homedir() })
  const localServers = await findLocalServers()
  writeFirstConfig(file, { force, localServers })
  process.stdout.write(
    [
      `Wrote ${file}. It contains the tokens, and only you can read it.`,
      ...offer(localServers),
      `Start with: ${commandLine(`start --config ${file}`)}`,
      '',
    ].join('\n'),
  )
}

function offer(servers: readonly LocalServer[]): string[] {
  if (servers.length === 0)
    return [
      'The built-in rules model replies. To use a language model, add a section "providers"; see docs/configure.md.',
    ]
  const found = servers.map(
    ({ title, url, models }) =>
      `  ${title} at ${url}${models.length > 0 ? `, with ${models.slice(0, 5).join(', ')}` : ''}`,
  )
  return [
    'The built-in rules model replies. These model servers run on this machine; the file has their sections as ' +
      'comments:',
    ...found,
  ]
}
