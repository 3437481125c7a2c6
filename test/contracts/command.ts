// What every command must do, run as a user runs it: in a process of its own, against a gateway.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findFaults } from '../../core/loader/verify.ts'
import type { Command } from '../../core/plugin/plugin.ts'
import { advise } from './advise.ts'
import { createTestGateway, type TestGateway } from './gateway.ts'
import { findProgram } from './import-alone.ts'
import { reportSuite } from './report.ts'

/** How a command has ended. */
export interface CommandResult {
  code: number
  stdout: string
  stderr: string
}

/**
 * Runs `svc-gateway` with these words in the folder of a gateway, whose address and credential it finds there.
 * @param options `input`: standard input
 */
export async function runCommand(
  gateway: Pick<TestGateway, 'url' | 'dir'>,
  args: readonly string[],
  { input = '' }: { input?: string } = {},
): Promise<CommandResult> {
  const { PATH, XDG_CACHE_HOME } = process.env
  const env = { PATH, XDG_CACHE_HOME, HOME: gateway.dir, SVC_GATEWAY_URL: gateway.url }
  const ended = Promise.withResolvers<CommandResult>()
  const program = [findProgram(), ...args]
  const child = execFile(process.execPath, program, { cwd: gateway.dir, env }, (error, stdout, stderr) =>
    ended.resolve({ code: error ? Number(error.code ?? 1) : 0, stdout, stderr }),
  )
  child.stdin?.end(input)
  return await ended.promise
}

/** Words after the name of the command, and how it must end. */
export interface CommandRun {
  args: readonly string[]
  input?: string
  stdout?: string | RegExp
  stderr?: string | RegExp
}

export interface CommandCase {
  /** The path of the module that exports the command. */
  plugin: string
  /** The configuration of the gateway, as for `createTestGateway`. */
  config?: Record<string, unknown>
  /** Brings the gateway into the state that the runs expect. */
  prepare?(gateway: TestGateway): Promise<void>
  /** Must end with 0. With the option `--json`, they must print lines of JSON. */
  runs: readonly CommandRun[]
  /** Must end with another code and one line on standard error, and print nothing else. */
  refused?: readonly CommandRun[]
}

export function commandContract(command: Command, { plugin, config, prepare, runs, refused = [] }: CommandCase): void {
  const name = command.name.split(' ')
  let gateway: TestGateway
  const printed: string[] = []
  const run = async (words: readonly string[], input?: string): Promise<CommandResult> => {
    const ended = await runCommand(gateway, words, { ...(input !== undefined && { input }) })
    printed.push(ended.stdout, ended.stderr)
    return ended
  }

  // Each run starts a process, which is slow on a busy machine.
  describe(`the command ${command.name}`, { timeout: 60_000 }, () => {
    reportSuite([command])
    beforeAll(async () => {
      gateway = await createTestGateway({ config: { ...config, plugins: [plugin] } })
      await prepare?.(gateway)
    }, 60_000)
    afterAll(() => gateway.close())

    it('has a valid declaration, and examples that begin with its name', () => {
      expect(findFaults(command)).toEqual([])
      expect(command.examples.filter((line) => !`${line} `.startsWith(`${command.name} `))).toEqual([])
    })

    it('describes itself', async () => {
      const help = await run([...name, '--help'])
      expect(help).toMatchObject({ code: 0, stderr: '' })
      for (const line of command.examples) expect(help.stdout).toContain(`$ svc-gateway ${line}\n`)
    })

    it.each(runs)('runs with $args', async ({ args, input, stdout = /^/, stderr = '' }) => {
      expect(await run([...name, ...args], input)).toEqual({
        code: 0,
        stdout: matching(stdout),
        stderr: matching(stderr),
      })
    })

    it.each(command.json === undefined ? [] : runs)('prints JSON with $args', async ({ args, input }) => {
      const { code, stdout } = await run([...name, ...args, '--json'], input)
      expect(code).toBe(0)
      for (const line of stdout.split('\n').filter(Boolean)) JSON.parse(line)
    })

    it.each(refused)('refuses $args in one line', async ({ args, input, stderr = /^/ }) => {
      const ended = await run([...name, ...args], input)
      expect(ended).toMatchObject({ stdout: '', stderr: matching(stderr) })
      expect(ended.code).toBeGreaterThan(0)
      expect(ended.stderr).toMatch(/^[^\n]+\n$/)
    })

    it('has printed no credential', () =>
      advise('Print no token and no secret: terminals and scripts keep what a command prints.', () =>
        expect(findCredentials(printed.join('\n'), gateway)).toEqual([]),
      ))
  })
}

/** The keys of the credentials of a gateway that are in a text. */
export function findCredentials(text: string, { dir }: Pick<TestGateway, 'dir'>): string[] {
  const document: unknown = JSON.parse(readFileSync(join(dir, 'gateway.json5'), 'utf8'))
  return listCredentials(document, []).flatMap(([path, value]) => (text.includes(value) ? [path] : []))
}

function listCredentials(value: unknown, path: readonly string[]): [path: string, value: string][] {
  const isCredential = /token|secret|password|key$/i.test(path.at(-1) ?? '')
  if (typeof value === 'string') return isCredential && value.length > 7 ? [[path.join('.'), value]] : []
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([key, one]) => listCredentials(one, path.concat(key)))
}

const matching = (text: string | RegExp): unknown => (typeof text === 'string' ? text : expect.stringMatching(text))
