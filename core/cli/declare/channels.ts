// Declares the commands about channels: `channels` and `pairing`.
import type { Command } from 'commander'
import { addControlOptions, addExamples, addJson } from './options.ts'

export function registerChannels(program: Command): void {
  const channels = program.command('channels').description('Show and link the channels of the running gateway.')
  const list = channels
    .command('list')
    .description('List the configured accounts and their states.')
    .action(async (options) => (await import('../channels/channels.ts')).listChannels(options))
  addExamples(addControlOptions(list).option('--json', 'one JSON object per line, as in the API'), 'channels list')
  const login = channels
    .command('login')
    .description('Link an account: shows the code to scan or to type.')
    .action(async (name, options) => (await import('../channels/channels.ts')).login(name, options))
  addAccountOptions(login).option('--json', 'one JSON object per line: each code and the result')
  addExamples(login, 'channels login whatsapp')
  const logout = channels
    .command('logout')
    .description('Unlink an account.')
    .action(async (name, options) => (await import('../channels/channels.ts')).logout(name, options))
  addExamples(addJson(addAccountOptions(logout)), 'channels logout whatsapp --account work')
}

export function registerPairing(program: Command): void {
  const pairing = program.command('pairing').description('Approve senders that may write to the agents on a channel.')
  const list = pairing
    .command('list')
    .description('List the senders that wait for approval or have it.')
    .action(async (options) => (await import('../channels/pairing.ts')).listPairings(options))
  addExamples(addControlOptions(list).option('--json', 'one JSON object per line, as in the API'), 'pairing list')
  const approve = pairing
    .command('approve')
    .description('Approve the sender that was given this code.')
    .argument('<code>', 'the code, from the sender or from "pairing list"')
    .action(async (code, options) => (await import('../channels/pairing.ts')).approvePairing(code, options))
  addExamples(addJson(addControlOptions(approve)), 'pairing approve K7M2QX9D')
  const revoke = pairing
    .command('revoke')
    .description('Withdraw the approval of a sender.')
    .argument('<channel>', 'the name of the channel')
    .argument('<sender>', 'the id of the sender, from "pairing list"')
    .option('--account <id>', 'the account of the channel (default: default)')
    .action(async (channel, sender, options) =>
      (await import('../channels/pairing.ts')).revokePairing(channel, sender, options),
    )
  addExamples(addJson(addControlOptions(revoke)), 'pairing revoke telegram 123456789')
}

const addAccountOptions = (command: Command): Command =>
  addControlOptions(
    command.argument('<name>', 'the channel').option('--account <id>', 'the account, if several are configured'),
  )
