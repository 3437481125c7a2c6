// Forgetting under load while the process is killed again and again: nothing acknowledged is lost, and the file comes
// back below its limit. SEED= repeats the pace of a run.
import { it } from 'vitest'
import { surviveCrashesWhileForgetting } from '../reliability/crash-scenarios.ts'

it('loses nothing in 150 crashes while 200 000 old requests are forgotten', async () => {
  await surviveCrashesWhileForgetting({ cycles: 150, clients: 16, old: 200_000, maxMb: 128 })
})
