// The command `completion`: prints the script of a shell, which asks `svc-gateway complete` for candidates.
import { readTemplate } from '../read-template.ts'

export function printScript(shell: string): void {
  process.stdout.write(readTemplate(`completion/svc-gateway.${shell}`))
}
