// Executes the steps of the Dockerfile in folders instead of containers, and starts the gateway that they install.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder } from '../helpers.ts'
import { share } from '../share.ts'

const context = fileURLToPath(new URL('../..', import.meta.url))
const ignored = readFileSync(join(context, '.dockerignore'), 'utf8').trim().split('\n')

/** A stage of the build. Its file system is the folder `root`. */
interface Stage {
  root: string
  workdir: string
  variables: Record<string, string>
  command: string[]
  healthcheck: string
}

const steps = readFileSync(join(context, 'Dockerfile'), 'utf8')
  .replaceAll(/^#.*\n/gm, '')
  .split(/\n+/)
  .flatMap((line) => (/^(\w+) (.*)$/.exec(line)?.slice(1) as [string, string] | undefined) ?? [])

/** Absolute paths of an image, in the folder of its stage. */
const inFolder = ({ root }: Stage, text: string): string =>
  text.replace(/(?<![\w.$/:-])\/(?:usr\/local|data|build)\b/g, (path) => join(root, path))

const environment = (stage: Stage): NodeJS.ProcessEnv => ({
  HOME: stage.root,
  ...stage.variables,
  PATH: [join(stage.root, 'usr/local/bin'), process.env['PATH']].join(':'),
})

/** npm may need settings of this machine to reach the registry. */
const buildEnvironment = (stage: Stage): NodeJS.ProcessEnv => ({
  ...process.env,
  ...environment(stage),
  HOME: process.env['HOME'],
  npm_config_prefix: join(stage.root, 'usr/local'),
  npm_config_prefer_offline: 'true',
})

function build(buildArgs: Record<string, string>): Stage {
  const stages: Record<string, Stage> = {}
  let stage: Stage | undefined
  for (let index = 0; index < steps.length; index += 2) {
    const [instruction, rest] = [steps[index] as string, steps[index + 1] as string]
    if (instruction === 'FROM') {
      stage = emptyStage()
      stages[/ AS (\w+)$/.exec(rest)?.[1] ?? 'final'] = stage
    } else execute(stage!, { instruction, rest, stages, buildArgs })
  }
  return stages['final']!
}

function emptyStage(): Stage {
  const root = temporaryFolder()
  const bin = join(root, 'usr/local/bin')
  mkdirSync(bin, { recursive: true })
  // The user "node" exists only in the base image.
  writeFileSync(join(bin, 'chown'), '#!/bin/sh\n[ "$1" = node:node ] && [ -d "$2" ]\n')
  chmodSync(join(bin, 'chown'), 0o755)
  return { root, workdir: root, variables: {}, command: [], healthcheck: '' }
}

interface Step {
  instruction: string
  rest: string
  stages: Record<string, Stage>
  buildArgs: Record<string, string>
}

function execute(stage: Stage, { instruction, rest, stages, buildArgs }: Step): void {
  const [, name = '', value = ''] = /^(\w+)="?([^"]*)"?$/.exec(rest) ?? []
  if (instruction === 'WORKDIR') mkdirSync((stage.workdir = inFolder(stage, rest)), { recursive: true })
  else if (instruction === 'COPY') copy(stage, rest, stages)
  else if (instruction === 'RUN') run(stage, inFolder(stage, rest))
  else if (instruction === 'ARG') stage.variables[name] = buildArgs[name] ?? value
  else if (instruction === 'ENV')
    for (const [, key = '', text = ''] of rest.matchAll(/(\w+)=(\S+)/g)) stage.variables[key] = inFolder(stage, text)
  else if (instruction === 'CMD') stage.command = JSON.parse(rest) as string[]
  else if (instruction === 'HEALTHCHECK') stage.healthcheck = rest.replace(/^CMD /, '')
  else expect(['USER', 'VOLUME', 'EXPOSE']).toContain(instruction)
}

const run = (stage: Stage, command: string) =>
  execFileSync('sh', ['-ec', command], { cwd: stage.workdir, env: buildEnvironment(stage), stdio: 'pipe' })

function copy(stage: Stage, rest: string, stages: Record<string, Stage>): void {
  const words = rest.split(' ')
  const from = words[0]?.startsWith('--from=') ? stages[words.shift()!.slice('--from='.length)] : undefined
  const target = resolve(stage.workdir, words.pop()!)
  for (const word of words) {
    const source = from ? inFolder(from, word) : join(context, word)
    const isIgnored = (path: string) => !from && ignored.some((name) => path === join(context, name))
    const isFolder = words.length === 1
    cpSync(source, isFolder ? target : join(target, basename(source)), {
      recursive: true,
      filter: (path) => !isIgnored(path) && basename(path) !== '.git',
    })
  }
}

describe('the Dockerfile', () => {
  const built = share(() => Promise.resolve(build({ CHANNEL_PACKAGES: 'grammy@1.46.0' })))

  it('installs a gateway that starts, is healthy, finds the package of a channel, and ends on SIGTERM', async () => {
    const image = built()
    const data = join(image.root, 'data')
    const telegram = { botToken: '123:secret-token-of-the-bot', apiRoot: 'http://127.0.0.1:9', allowFrom: ['1'] }
    const config = { gateway: { port: 0, auth: { token: 'x'.repeat(32) } }, channels: { telegram } }
    writeFileSync(join(data, 'gateway.json5'), JSON.stringify(config), { mode: 0o600 })
    const options = { cwd: image.workdir, env: environment(image) }
    expect(image.workdir).toBe(data)

    const [name = '', ...args] = image.command
    const check = execFileSync(name, [...args, 'check', '--strict'], { ...options, encoding: 'utf8' })
    expect(check).toBe('ok\n')

    const gateway = spawn(name, args, { ...options, stdio: ['ignore', 'pipe', 'ignore'] })
    onTestFinished(() => void gateway.kill('SIGKILL'))
    const lines = createInterface({ input: gateway.stdout })
    const [line] = (await once(lines, 'line')) as [string]
    expect(line).toMatch(/^listening on http:\/\/127\.0\.0\.1:\d+$/)
    const health = () => execFileSync('sh', ['-ec', image.healthcheck], options)
    health()
    gateway.kill('SIGTERM')
    expect(await once(gateway, 'exit')).toEqual([0, null])
    expect(() => health()).toThrow(/Command failed/)
    expect(existsSync(join(data, 'state', 'gateway.db'))).toBe(true)
  })

  it('says how to create a configuration if there is none', () => {
    const image = built()
    const env = { ...environment(image), SVC_GATEWAY_CONFIG: join(image.root, 'data', 'none.json5') }
    const [name = '', ...args] = image.command
    expect(() => execFileSync(name, args, { cwd: image.workdir, env, stdio: 'pipe' })).toThrow(
      /does not exist; run "svc-gateway setup --config [^"]*none\.json5" to create it/,
    )
  })
})
