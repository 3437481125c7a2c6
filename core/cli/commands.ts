// Lists the commands. The code of a command is imported only when it runs, so that help is printed without loading the
// gateway.
import type { Command } from 'commander'
import { registerBackup } from './declare/backup.ts'
import { registerChannels, registerPairing } from './declare/channels.ts'
import { registerCompletion } from './declare/completion.ts'
import { registerDoctor } from './declare/doctor.ts'
import { registerImport } from './declare/import.ts'
import { registerInspection } from './declare/inspection.ts'
import { registerLive } from './declare/live.ts'
import { registerPlugin } from './declare/plugin.ts'
import { registerGmail, registerPresets } from './declare/presets.ts'
import { registerReplay, registerRequests } from './declare/requests.ts'
import { registerSetup } from './declare/setup.ts'
import { registerCheck, registerStart } from './declare/start.ts'
import { registerStore } from './declare/store.ts'
import { registerTransform } from './declare/transform.ts'
import { registerTrigger } from './declare/trigger.ts'

export function registerCommands(program: Command): void {
  registerStart(program)
  registerCheck(program)
  registerDoctor(program)
  registerSetup(program)
  registerBackup(program)
  registerStore(program)
  registerImport(program)
  registerTransform(program)
  registerPlugin(program)
  registerRequests(program)
  registerReplay(program)
  registerTrigger(program)
  registerInspection(program)
  registerLive(program)
  registerPairing(program)
  registerChannels(program)
  registerPresets(program)
  registerGmail(program)
  registerCompletion(program)
}
