// Declares the commands that copy a gateway: `backup` and `restore`.
import type { Command } from 'commander'
import { addExamples } from './options.ts'

export function registerBackup(program: Command): void {
  const backup = program
    .command('backup')
    .description('Write one archive with the configuration, the store, workspaces and transforms. The gateway may run.')
    .argument('<file>', 'the archive to write, such as gateway.tar.gz')
    .option('--config <file>', 'configuration file of the gateway (default: as for start)')
    .option('--force', 'replace an existing file')
    .option('--json', 'one JSON object per line: progress and the result')
    .action(async (file, options) => (await import('../backup/backup.ts')).backup(file, options))
  addExamples(backup, 'backup gateway.tar.gz')
  const restore = program
    .command('restore')
    .description('Restore a backup. The gateway must be stopped.')
    .argument('<file>', 'the archive, from "backup"')
    .option('--config <file>', 'where to restore the configuration file (default: as for start)')
    .option('--store <file>', 'where to restore the store, if storage.url is outside the configuration directory')
    .option('--force', 'replace existing files, which are kept under another name')
    .option('--json', 'one JSON object per line: progress and the result')
    .action(async (file, options) => (await import('../backup/restore.ts')).restore(file, options))
  addExamples(restore, 'restore gateway.tar.gz')
}
