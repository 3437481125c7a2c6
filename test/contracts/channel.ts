// What every channel must do: messages arrive complete and once, whatever is lost on the way.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import type { Channel } from '../../core/plugin/plugin.ts'
import { channelChecks, runCheck } from './channel-checks.ts'
import { trapOutsideConnections } from './loopback.ts'
import type { Platform } from './platform.ts'

export type { Platform } from './platform.ts'
export type { SaidFile } from './said-file.ts'

/**
 * Also fails every other test of the file that tries to connect to another machine.
 *
 * @param openPlatform called before each test; `close` of its result is called afterwards
 */
export function channelContract<Config>(channel: Channel<Config>, openPlatform: () => Promise<Platform<Config>>): void {
  let trap: ReturnType<typeof trapOutsideConnections>
  beforeAll(() => {
    trap = trapOutsideConnections()
  })
  afterEach(() => expect(trap.escapes.splice(0), 'connections to other machines').toEqual([]))
  afterAll(() => trap.remove())

  describe(`channel ${channel.name}`, () => {
    it.for(channelChecks(channel))('$name', async (check, { skip }) => {
      const missing = await runCheck(check, { channel, openPlatform })
      if (missing !== undefined) skip(`the double has no "${missing}"`)
    })
  })
}
