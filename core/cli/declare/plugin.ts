// Declares the command `plugin`.
import { type Command, Option } from 'commander'
import { addExamples } from './options.ts'

export function registerPlugin(program: Command): void {
  const command = program
    .command('plugin')
    .description('Work on plugins.')
    .command('new')
    .description('Write the package of a new plugin: working code, its tests, and what to do next.')
    .argument('<name>', 'the name of the extension: lower-case letters, digits and dashes')
    .addOption(
      new Option('--kind <kind>', 'what the plugin adds')
        .choices(['channel', 'toolset', 'preset', 'provider'])
        .makeOptionMandatory(),
    )
    .option('--dir <folder>', 'the folder to create (default: ./svc-gateway-plugin-<name>)')
    .option('--json', 'one JSON object')
    .action(async (name, options) => (await import('../plugin/new-plugin.ts')).createPlugin(name, options))
  addExamples(command, 'plugin new weather --kind toolset', 'plugin new shop --kind preset --dir plugins/shop')
}
