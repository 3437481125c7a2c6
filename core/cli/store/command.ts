// Declares the command `store migrate`.
import { defineCommand } from '../../plugin/command.ts'
import { fileOption } from '../parser.ts'

export const migrateCommand = defineCommand({
  name: 'store migrate',
  group: 'Work on the store of a stopped gateway.',
  description: 'Copy the store to another database, and compare both. Continues a copy that was interrupted.',
  options: {
    to: {
      value: '<url>',
      description: 'the new store: an empty database or a new file, written as for storage.url',
      required: true,
    },
    from: { value: '<url>', description: 'the store to copy (default: storage.url of the configuration)' },
    config: fileOption('configuration file of the gateway (default: as for start)'),
    dryRun: { description: 'print how many rows would be copied, and copy nothing; the gateway may run' },
    restart: { description: 'delete what an interrupted copy has copied, and begin again' },
    writeConfig: { description: 'set storage.url to the new store when the copy is complete' },
  },
  json: 'one JSON object per line: progress, tables and the result',
  examples: [
    'store migrate --to postgres://gateway@db.example.org/gateway --write-config',
    'store migrate --to \'{ file: "secrets/database-url" }\' --dry-run',
    'store migrate --to sqlite:state/gateway.db',
  ],
  run: async (input, context) => (await import('./migrate.ts')).migrateStore(input, context),
})
