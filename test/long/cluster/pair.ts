// Two gateways on one PostgreSQL database, of which the first one executes a run and holds the console.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, onTestFinished } from 'vitest'
import {
  gatewayToken,
  type GatewayProcess,
  hookToken,
  spawnGateway,
  temporaryFolder,
  writeConfig,
} from '../../helpers.ts'
import { createDatabase } from '../../postgres.ts'
import type { TurnRecorder } from './turn-recorder.ts'

export interface Pair {
  holder: GatewayProcess
  other: GatewayProcess
  databaseUrl: string
  /** Where the console writes the replies. */
  consoleFile: string
}

/** The holder executes the run of the message `<s1-0>` and holds the console before the other one starts. */
export async function startPair(model: TurnRecorder): Promise<Pair> {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const dir = temporaryFolder()
  const consoleFile = join(dir, 'console.jsonl')
  const start = async (name: string) => {
    mkdirSync(join(dir, name))
    const gateway = await spawnGateway(
      writeConfig(join(dir, name), {
        storage: { url: database.url },
        providers: model.providers,
        hooks: { enabled: true, token: hookToken, allowRequestSessionKey: true },
        agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
        channels: { console: { file: consoleFile } },
      }),
    )
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    return gateway
  }
  const holder = await start('holder')
  await expect.poll(() => stateOf(holder)).toBe('connected')
  await send(holder, '<s1-0>')
  await expect.poll(() => model.turns.length).toBe(1)
  return { holder, other: await start('other'), databaseUrl: database.url, consoleFile }
}

export async function stateOf({ url }: GatewayProcess): Promise<string> {
  const response = await fetch(`${url}/api/channels`, { headers: { authorization: `Bearer ${gatewayToken}` } })
  return ((await response.json()) as { accounts: { state: string }[] }).accounts[0]!.state
}

/** Sends a message of the session `s1`. */
export async function send({ url }: GatewayProcess, message: string): Promise<void> {
  const response = await fetch(`${url}/hooks/agent`, {
    method: 'POST',
    headers: { authorization: `Bearer ${hookToken}` },
    body: JSON.stringify({ message, sessionKey: 's1', channel: 'console', to: 's1', wakeMode: 'next-heartbeat' }),
  })
  expect(response.status).toBe(200)
}
