// A tool that does almost nothing, so that the benchmark measures only the cost of the call.
import { defineTool, defineToolset, type Static, Type } from 'svc-gateway/plugin'

const Args = Type.Object({ text: Type.String({ minLength: 1 }) }, { additionalProperties: false })

export default defineToolset({
  name: 'cheap',
  description: 'Costs nothing.',
  tools: [
    defineTool<Static<typeof Args>>({
      name: 'measure',
      description: 'Tells how long a text is.',
      args: Args,
      effects: [],
      changes: 'nothing',
      execute: ({ text }) => ({ length: text.length }),
    }),
  ],
})
