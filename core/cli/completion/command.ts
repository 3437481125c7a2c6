// Declares the command `completion`: prints the script of a shell, which calls `svc-gateway complete` for candidates.
import { defineCommand } from '../../plugin/command.ts'

export const completionCommand = defineCommand({
  name: 'completion',
  description: 'Print a script that completes commands, options and names in a shell.',
  arguments: { shell: { description: 'the shell', choices: ['bash', 'zsh', 'fish'] } },
  examples: ['completion bash > ~/.local/share/bash-completion/completions/svc-gateway'],
  run: async ({ shell }) => {
    const { readTemplate } = await import('../read-template.ts')
    process.stdout.write(readTemplate(`completion/svc-gateway.${shell}`))
  },
})
