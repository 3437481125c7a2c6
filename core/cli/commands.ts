// The commands of the gateway itself: they work on its process, its files and its store. All others are extensions.
import { backupCommands } from './backup/command.ts'
import { checkCommand } from './check/command.ts'
import { completionCommand } from './completion/command.ts'
import { doctorCommand } from './doctor/command.ts'
import type { ListedCommand } from './parser.ts'
import { pluginCommands } from './plugin/command.ts'
import { setupCommand } from './setup/command.ts'
import { startCommands } from './start/command.ts'
import { migrateCommand } from './store/command.ts'
import { transformCommands } from './transform/command.ts'
import { triggerCommand } from './trigger/command.ts'

export const ownCommands: readonly ListedCommand[] = [
  ...startCommands,
  checkCommand,
  doctorCommand,
  setupCommand,
  ...backupCommands,
  migrateCommand,
  ...transformCommands,
  ...pluginCommands,
  triggerCommand,
  completionCommand,
]
