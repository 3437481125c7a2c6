// Declares the command `completion`, and the hidden one that its scripts call.
import { Argument, type Command } from 'commander'
import { addExamples } from './options.ts'

export function registerCompletion(program: Command): void {
  const command = program
    .command('completion')
    .description('Print a script that completes commands, options and names in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))
    .action(async (shell) => (await import('../completion/scripts.ts')).printScript(shell))
  addExamples(command, 'completion bash > ~/.local/share/bash-completion/completions/svc-gateway')
  program
    .command('complete', { hidden: true })
    .argument('[words...]')
    .action(async (words) => (await import('../completion/complete.ts')).complete(program, words))
}
