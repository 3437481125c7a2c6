// The logger of an extension.
import { expect, it } from 'vitest'
import { createExtensionLog } from '../../core/loader/extension-log.ts'
import { createTestContext } from '../contracts.ts'

it('adds the name of the extension to each line', () => {
  const { log, logged } = createTestContext()
  createExtensionLog(log, { toolset: 'notes' }).warn({ count: 2 }, 'full')
  expect(logged).toEqual([{ level: 'warn', fields: { toolset: 'notes', count: 2 }, message: 'full' }])
})
