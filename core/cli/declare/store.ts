// Declares the commands that work on the store: `store migrate`.
import type { Command } from 'commander'
import { addExamples } from './options.ts'

export function registerStore(program: Command): void {
  const command = program
    .command('store')
    .description('Work on the store of a stopped gateway.')
    .command('migrate')
    .description('Copy the store to another database, and compare both. Continues a copy that was interrupted.')
    .requiredOption('--to <url>', 'the new store: an empty database or a new file, written as for storage.url')
    .option('--from <url>', 'the store to copy (default: storage.url of the configuration)')
    .option('--config <file>', 'configuration file of the gateway (default: as for start)')
    .option('--dry-run', 'print how many rows would be copied, and copy nothing; the gateway may run')
    .option('--restart', 'delete what an interrupted copy has copied, and begin again')
    .option('--write-config', 'set storage.url to the new store when the copy is complete')
    .option('--json', 'one JSON object per line: progress, tables and the result')
    .action(async (options) => (await import('../store/migrate.ts')).migrateStore(options))
  addExamples(
    command,
    'store migrate --to postgres://gateway@db.example.org/gateway --write-config',
    'store migrate --to \'{ file: "secrets/database-url" }\' --dry-run',
    'store migrate --to sqlite:state/gateway.db',
  )
}
