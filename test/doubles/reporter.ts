// A provider whose model reports the usage that its message asks for, written as a plugin: to compute costs by the price
// table, and to report what no real service would.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A call that the model makes before it answers. */
const source = `
  const parts = (usage, text) => [
    { type: 'stream-start', warnings: [] },
    ...(text ? [{ type: 'text-start', id: '1' }, { type: 'text-delta', id: '1', delta: text }] : []),
    ...(text ? [{ type: 'text-end', id: '1' }] : []),
    { type: 'finish', usage, finishReason: { unified: 'stop', raw: 'stop' } },
  ]
  const textOf = ({ content }) => (typeof content === 'string' ? content : content.map(({ text = '' }) => text).join(''))
  const reporter = (modelId) => ({
    specificationVersion: 'v4', provider: 'reporter', modelId, supportedUrls: {},
    doGenerate: () => { throw new Error('not used') },
    doStream: async ({ prompt }) => {
      const [, expression] = /report\\((.*)\\)/s.exec(textOf(prompt.at(-1)))
      const { text = 'Done.', ...usage } = new Function('return (' + expression + ')')()
      return { stream: ReadableStream.from(parts({ inputTokens: {}, outputTokens: {}, ...usage }, text)) }
    },
  })
  export default {
    kind: 'provider', name: 'reporter', description: 'Reports usage.',
    config: { type: 'object', properties: { url: { type: 'string' } } },
    pricing: ({ url }) => (url === undefined ? undefined : { url }),
    models: async () => reporter,
  }`

/** Writes the plugin. @returns its path, for \`plugins\` */
export function writeReporter(dir: string): string {
  writeFileSync(join(dir, 'reporter.mjs'), source)
  return './reporter.mjs'
}

/** A message that makes the model report this usage, in the form of the AI SDK. */
export const askForUsage = (usage: string): string => `report(${usage})`
