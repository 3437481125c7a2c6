// What the leader of three gateways does alone, and alone knows of, others do within 20 seconds of its death: schedules,
// heartbeats and the job of a preset.
import { appendFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, inject, it, onTestFinished } from 'vitest'
import { messagesOf, startModel } from '../../doubles/model.ts'
import {
  gatewayToken,
  type GatewayProcess,
  hookToken,
  spawnGateway,
  temporaryFolder,
  writeConfig,
} from '../../helpers.ts'
import { createDatabase } from '../../postgres.ts'

/** As docs/deploy.md says. */
const maxSeconds = 20

/** A preset whose job notes its process in a file. */
const preset = `
import { appendFileSync } from 'node:fs'
import { definePreset, Type } from 'svc-gateway/plugin'
export default definePreset({
  name: 'pulse',
  description: 'A pulse.',
  payload: Type.Object({}),
  mapping: {},
  config: Type.Object({ file: Type.String() }),
  async start({ file }) {
    const timer = setInterval(() => appendFileSync(file, process.pid + '\\n'), 200)
    return { close: async () => clearInterval(timer) }
  },
})
`

it.each<NodeJS.Signals>(['SIGKILL', 'SIGSTOP'])('schedules, heartbeats and jobs survive %s', async (signal) => {
  const database = await createDatabase(inject('postgresUrl'))
  onTestFinished(database.remove)
  const root = temporaryFolder()
  const pulses = join(root, 'pulses')
  appendFileSync(pulses, '')

  async function start(name: string) {
    const dir = join(root, name)
    mkdirSync(join(dir, 'state', 'workspaces', 'main'), { recursive: true })
    writeFileSync(join(dir, 'state', 'workspaces', 'main', 'HEARTBEAT.md'), 'Look at the disk.')
    writeFileSync(join(dir, 'pulse.ts'), preset)
    const model = await startModel()
    model.otherwise({ text: 'HEARTBEAT_OK' })
    const gateway = await spawnGateway(
      writeConfig(dir, {
        storage: { url: database.url },
        providers: model.providers,
        plugins: ['./pulse.ts'],
        hooks: { enabled: true, token: hookToken, presets: ['pulse'], pulse: { file: pulses } },
        agents: { defaults: { model: 'double/m', heartbeat: { every: '2s', model: 'double/m' } } },
      }),
    )
    onTestFinished(() => void gateway.process.kill('SIGKILL'))
    const count = (text: string) =>
      model.requests.filter((request) => messagesOf(request).at(-1)?.content.includes(text)).length
    return { ...gateway, heartbeats: () => count('Look at the disk.'), firings: () => count('Water the plants.') }
  }

  const leader = await start('leader')
  await expect.poll(leader.heartbeats, { timeout: 20_000 }).toBeGreaterThan(0)
  await expect.poll(() => readFileSync(pulses, 'utf8')).toContain(String(leader.process.pid))
  const others = [await start('second'), await start('third')]
  await addSchedule(leader)
  leader.process.kill(signal)
  const killedAt = performance.now()
  const measure = async (hasHappened: () => boolean): Promise<number> => {
    await expect.poll(hasHappened, { timeout: 60_000, interval: 50 }).toBe(true)
    return (performance.now() - killedAt) / 1000
  }
  const byOthers = (count: 'heartbeats' | 'firings') => () => others.some((other) => other[count]() > 0)
  const lastPulse = () => readFileSync(pulses, 'utf8').trim().split('\n').at(-1)
  const seconds = {
    schedule: await measure(byOthers('firings')),
    heartbeat: await measure(byOthers('heartbeats')),
    job: await measure(() => others.some(({ process }) => String(process.pid) === lastPulse())),
  }
  console.info(signal, seconds)
  // It was due ten seconds after it was added.
  expect(seconds.schedule).toBeLessThanOrEqual(10 + maxSeconds)
  expect(seconds.heartbeat).toBeLessThanOrEqual(maxSeconds)
  expect(seconds.job).toBeLessThanOrEqual(maxSeconds)
})

async function addSchedule({ url }: GatewayProcess): Promise<void> {
  const response = await fetch(`${url}/tools/invoke`, {
    method: 'POST',
    headers: { authorization: `Bearer ${gatewayToken}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      tool: 'cron',
      args: { action: 'add', every: '10s', message: 'Water the plants.', deliver: false },
    }),
  })
  expect(response.status).toBe(200)
}
