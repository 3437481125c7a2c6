// Declares the commands that copy a gateway: `backup` and `restore`.
import { defineCommand } from '../../plugin/command.ts'
import { fileOption } from '../parser.ts'

const backup = defineCommand({
  name: 'backup',
  description: 'Write one archive with the configuration, the store, workspaces and transforms. The gateway may run.',
  arguments: { file: { description: 'the archive to write, such as gateway.tar.gz', completes: 'file' } },
  options: {
    config: fileOption('configuration file of the gateway (default: as for start)'),
    force: { description: 'replace an existing file' },
  },
  json: 'one JSON object per line: progress and the result',
  examples: ['backup gateway.tar.gz'],
  run: async (input) => (await import('./backup.ts')).backup(input),
})

const restore = defineCommand({
  name: 'restore',
  description: 'Restore a backup. The gateway must be stopped.',
  arguments: { file: { description: 'the archive, from "backup"', completes: 'file' } },
  options: {
    config: fileOption('where to restore the configuration file (default: as for start)'),
    store: {
      value: '<file>',
      description: 'where to restore the store, if storage.url is outside the configuration directory',
    },
    force: { description: 'replace existing files, which are kept under another name' },
  },
  json: 'one JSON object per line: progress and the result',
  examples: ['restore gateway.tar.gz'],
  run: async (input) => (await import('./restore.ts')).restore(input),
})

export const backupCommands = [backup, restore]
