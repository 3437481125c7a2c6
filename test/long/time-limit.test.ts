// Stops many runs of a transform while others run in the same process.
import { it } from 'vitest'
import { expectBlame } from '../sandbox/pool/blame.ts'

it('blames the run that exceeded the time limit, not the one that began while the process was killed', async () => {
  await expectBlame({ stops: 20 })
})
