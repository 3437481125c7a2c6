// Lets the key of a section of `channels` be an alias of the channel, such as `channels.teams` for `channels.msteams`.
import type { ConfigDocument } from '../file/read.ts'
import { isRecord } from '../walk.ts'
import { listChannelNames, type NamedChannels } from './names.ts'

interface NamedSections {
  /** The document with the names of channels instead of aliases, in its value and in the keys of its problems. */
  named: ConfigDocument
  /** Turns keys of the named document into those that the file has, for errors and warnings. */
  asWritten(keys: readonly string[]): readonly string[]
}

export function nameSections(document: ConfigDocument, channels: NamedChannels): NamedSections {
  const { channels: sections } = document.value
  if (!isRecord(sections)) return { named: document, asWritten: (keys) => keys }
  const { kept, doubles } = findSections(Object.keys(sections), channels)
  const names = new Map(Array.from(kept, ([name, key]) => [key, name]))
  const value = {
    ...document.value,
    channels: Object.fromEntries(Array.from(kept, ([name, key]) => [name, sections[key]])),
  }
  const problems = [
    ...document.problems.map((problem) => Object.assign({}, problem, { keys: replaceSection(problem.keys, names) })),
    ...doubles.map(([key, other]) => ({
      keys: ['channels', key],
      problem: `is another name of channels.${other}; keep one of the two sections`,
    })),
  ]
  return { named: { ...document, value, problems }, asWritten: (keys) => replaceSection(keys, kept) }
}

interface Sections {
  /** The key of each section by the name of its channel. A key that no channel has stands for itself. */
  kept: ReadonlyMap<string, string>
  /** The keys of further sections of the same channel, each with the key that is kept. */
  doubles: readonly (readonly [key: string, other: string])[]
}

/** If the file has both, the section with the name of the channel is kept. */
function findSections(keys: readonly string[], channels: NamedChannels): Sections {
  const named = (channel: string): string[] =>
    listChannelNames(new Map([[channel, channels.get(channel) ?? {}]])).filter((name) => keys.includes(name))
  const groups = Array.from(channels.keys(), (channel) => ({ channel, found: named(channel) }))
  const known = new Set(groups.flatMap(({ found }) => found))
  const unknown = keys.filter((key) => !known.has(key))
  return {
    kept: new Map([
      ...groups.flatMap(({ channel, found: [key] }) => (key === undefined ? [] : [[channel, key] as const])),
      ...unknown.map((key) => [key, key] as const),
    ]),
    doubles: groups.flatMap(({ found: [key = '', ...others] }) => others.map((other) => [other, key] as const)),
  }
}

function replaceSection(keys: readonly string[], sections: ReadonlyMap<string, string>): readonly string[] {
  const [root, section = '', ...inside] = keys
  const replaced = root === 'channels' ? sections.get(section) : undefined
  return replaced === undefined ? keys : [root as string, replaced, ...inside]
}
