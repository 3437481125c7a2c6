// Runs the suite of commands against a gateway in the process of the test.
import { fileURLToPath } from 'node:url'
import { commandContract } from 'svc-gateway/testing'
import command from '../src/index.ts'

commandContract(command, {
  plugin: fileURLToPath(new URL('../src/index.ts', import.meta.url)),
  prepare: async (gateway) => {
    await gateway.post('/hooks/agent', { message: 'Hello.', deliver: false }, { prefer: 'wait=10' })
  },
  runs: [
    { args: [], stdout: 'agent  1\n' },
    { args: ['--since', '2h', '--status', 'succeeded'], stdout: 'agent  1\n' },
    { args: ['--status', 'failed'], stdout: '', stderr: 'There are no hooks with runs to list.\n' },
  ],
  refused: [{ args: ['--since', 'yesterday'], stderr: /It must be a duration/ }],
})
