// Declares the commands that stay connected to a running gateway: `tail` and `chat`.
import type { Command } from 'commander'

export function registerLive(_program: Command): void {}
