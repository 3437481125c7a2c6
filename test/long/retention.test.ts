// Tests crashes during a purge under load: no acknowledged work is lost, and the file shrinks below its limit. SEED=
// repeats the pace of a run.
import { it } from 'vitest'
import { surviveCrashesWhileForgetting } from '../reliability/crash-scenarios.ts'

it('loses nothing in 150 crashes while 200 000 old requests are purged', async () => {
  await surviveCrashesWhileForgetting({ cycles: 150, clients: 16, old: 200_000, maxMb: 128 })
})
