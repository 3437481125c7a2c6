// Tests what tools of MCP servers change, and which may be called again after a crash, by what their server says.
import { expect, it } from 'vitest'
import { toTools } from '../../plugins/tools/mcp/tools.ts'
import type { Tool } from '../../core/plugin/plugin.ts'
import { createTestContext } from '../contracts/context.ts'

type Declared = Pick<Tool, 'changes' | 'repeatable'>

it.each<[object | undefined, Declared]>([
  [{ readOnlyHint: true }, { changes: 'nothing', repeatable: true }],
  [{ idempotentHint: true }, { repeatable: true }],
  [{ readOnlyHint: false, destructiveHint: true }, { repeatable: false }],
  [{ destructiveHint: false }, { changes: 'adds', repeatable: false }],
  [{ readOnlyHint: 'true' }, { repeatable: false }],
  [undefined, { repeatable: false }],
])('a tool with the annotations %j has the members %j', (annotations, { changes, repeatable }) => {
  const listed = { name: 'look', inputSchema: { type: 'object' }, annotations }
  const { log } = createTestContext()
  const [tool] = toTools([listed], {
    server: 'fixture',
    external: 'all',
    call: () => expect.fail('it was called'),
    log,
  })
  expect(tool).toMatchObject({ name: 'fixture__look', repeatable })
  expect(tool?.changes).toBe(changes)
})
