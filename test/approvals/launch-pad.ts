// A gateway with a tool that a person must approve, a chat with approvers, and a scripted model.
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ModelServer } from '../doubles/model.ts'
import type { Document } from '../helpers.ts'

/** `launch` appends its arguments to a file, so that calls are counted across processes. */
export const toolsetSource = (file: string) => `
  import { appendFileSync } from 'node:fs'
  import { setTimeout as delay } from 'node:timers/promises'
  const tool = (name, execute, fields) => ({
    name, group: 'pad', description: 'A tool.', effects: [], args: { type: 'object' }, execute, ...fields,
  })
  const launch = async (args) => {
    appendFileSync(${JSON.stringify(file)}, JSON.stringify(args) + '\\n')
    if (args.ms) await delay(args.ms)
    return 'launched'
  }
  export default {
    kind: 'toolset', name: 'pad', description: 'A launch pad.',
    tools: [
      tool('launch', launch, { repeatable: true }),
      tool('look', () => 'clear sky'),
      tool('read_secret', () => 'private', { effects: ['reads-private'] }),
      tool('post_outside', launch, { effects: ['sends'], repeatable: true }),
      tool('explode', () => { throw new Error('boom') }),
    ],
  }`

export interface LaunchPad {
  /** The configuration of the toolset. */
  document(changes?: Document): Document
  /** The arguments of the calls of `launch`, in order. */
  launches(): unknown[]
}

export function createLaunchPad(dir: string): LaunchPad {
  const file = join(dir, 'launches.jsonl')
  writeFileSync(join(dir, 'pad.mjs'), toolsetSource(file))
  return {
    document: () => ({
      tools: { allow: ['group:pad'], ask: ['launch', 'explode'] },
      agents: { defaults: { model: 'double/m', heartbeat: { every: 0 } } },
    }),
    launches: () =>
      existsSync(file)
        ? readFileSync(file, 'utf8')
            .split('\n')
            .filter(Boolean)
            .map((line) => JSON.parse(line) as unknown)
        : [],
  }
}

export const plugins = './pad.mjs'

/** Makes the messages of the chat as long as those of most platforms. */
export function widenChat(dir: string, maxText = 4000): void {
  const file = join(dir, 'chat.mjs')
  writeFileSync(file, readFileSync(file, 'utf8').replace('maxText: 80', `maxText: ${maxText}`))
}

/** The code in the last message that asks. */
export function codeIn(text: string): string {
  const [, code] = /approve ([A-Z2-9]{8})/.exec(text) ?? []
  if (code === undefined) throw new Error(`There is no code in: ${text}`)
  return code
}

/** The arguments that a message shows, from its numbered lines. */
export const shownArgs = (text: string): unknown =>
  JSON.parse(Array.from(text.matchAll(/^\d+\| (.*)$/gm), ([, line]) => line).join('')) as unknown

export const scriptCall = (model: ModelServer, args: object, tool = 'launch'): void => model.script({ tool, args })
