// Tests which tools of MCP servers may be called again after a crash: those whose server says that a second call is safe.
import { expect, it } from 'vitest'
import { toTools } from '../../plugins/tools/mcp/tools.ts'
import { createTestContext } from '../contracts/context.ts'

it.each([
  [{ readOnlyHint: true }, true],
  [{ idempotentHint: true }, true],
  [{ readOnlyHint: false, destructiveHint: true }, false],
  [{ readOnlyHint: 'true' }, false],
  [undefined, false],
])('a tool with the annotations %j is repeatable: %j', (annotations, isRepeatable) => {
  const listed = { name: 'look', inputSchema: { type: 'object' }, annotations }
  const { log } = createTestContext()
  const [tool] = toTools([listed], { server: 'fixture', call: () => expect.fail('it was called'), log })
  expect(tool).toMatchObject({ name: 'fixture__look', repeatable: isRepeatable })
})
